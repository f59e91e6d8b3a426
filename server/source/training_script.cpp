#include "source/training_script.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace ridgeline::source {

namespace {

// A script is not nested deeper; what is, is left out.
constexpr std::size_t kMaxAncestors = 128;
constexpr std::size_t kMaxSites = 256;
constexpr std::size_t kMaxCallLevels = 8;

using Content = SourceTree::Content;

/// A call that matters for training, with what is around it.
struct Site {
  Node call;
  std::string_view name;
  std::vector<Node> ancestors;
};

Node undecorated(Node node) { return node.is("decorated_definition") ? node.field("definition") : node; }

bool is_loop(Node node) { return node.is("for_statement") || node.is("while_statement"); }

/// What an `expression_statement` assigns; none where it is no assignment.
Node assignment_in(Node statement) {
  const std::vector<Node> parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
  return !parts.empty() && parts.front().is("assignment") ? parts.front() : Node();
}

/// The name of `expression_statement`'s only assignment, and its value.
std::pair<Node, Node> plain_assignment(Node statement) {
  const Node assignment = assignment_in(statement);
  const Node left = assignment.field("left");
  return left.is("identifier") ? std::pair(left, assignment.field("right")) : std::pair(Node(), Node());
}

class ScriptReader {
 public:
  explicit ScriptReader(const Content& content) : content_(content) {}

  base::Result<TrainingScript> read() {
    find_definitions();
    find_models();
    find_functions();
    find_sites();
    find_training_functions();
    if (!find_loop() && !find_trainer() && !find_model()) {
      return base::error(why_not());
    }
    script_.can_be_imported = std::ranges::none_of(content_.root().children(), [&](Node node) { return trains(node); });
    return std::move(script_);
  }

 private:
  std::string why_not() const {
    if (!script_.method.empty()) {
      return "The training loop is in `" + script_.method +
             "`: loops in methods and lambdas are not understood. The script can be profiled as it is, with " +
             "`ridgeline profile --stop`.";
    }
    if (std::ranges::any_of(sites_, [this](const Site& site) { return is_backward(site); })) {
      return "Gradients are computed, but in no loop that is understood. The script can be profiled as it is, with "
             "`ridgeline profile --stop`.";
    }
    return "The file defines no model, and nothing in it calls `backward()`.";
  }

  void find_definitions() {
    for (const Node statement : content_.root().children()) {
      const Node node = undecorated(statement);
      if (node.is("function_definition") || node.is("class_definition")) {
        script_.definitions[content_.text_of(node.field("name"))] = statement;
      }
    }
  }

  std::optional<ModelBase> base_of(Node base) const {
    const Node last = base.is("attribute") ? base.field("attribute") : base;
    const std::string_view name = last.is("identifier") ? content_.text_of(last) : std::string_view();
    const auto known = script_.models.find(name);
    if (known != script_.models.end()) {
      return known->second.base;
    }
    return name == "Module"                    ? std::optional(ModelBase::kModule)
           : name == "LightningModule"         ? std::optional(ModelBase::kLightning)
           : name.ends_with("PreTrainedModel") ? std::optional(ModelBase::kPreTrained)
                                               : std::nullopt;
  }

  /// In the order of the text, since a base has to be defined before.
  void find_models() {
    for (const Node statement : content_.root().children()) {
      const Node node = undecorated(statement);
      const Node bases = node.is("class_definition") ? node.field("superclasses") : Node();
      for (const Node base : bases.exists() ? bases.children() : std::vector<Node>()) {
        if (const auto kind = base_of(base)) {
          if (base.is("identifier") && script_.models.contains(content_.text_of(base))) {
            script_.models[content_.text_of(base)].is_a_base = true;
          }
          script_.models[content_.text_of(node.field("name"))] = {node, *kind};
          break;
        }
      }
    }
  }

  /// Functions that are in no class, also those within others.
  void find_functions() {
    for_each_node(content_.root(), [&](Node node, const std::vector<Node>& ancestors) {
      const auto is_no_plain = [](Node around) { return around.is("class_definition") || around.is("lambda"); };
      if (node.is("function_definition") && std::ranges::none_of(ancestors, is_no_plain)) {
        functions_.insert(content_.text_of(node.field("name")));
      }
    });
  }

  void find_sites() {
    for_each_node(content_.root(), [&](Node node, const std::vector<Node>& ancestors) {
      if (!node.is("call") || ancestors.size() > kMaxAncestors || sites_.size() >= kMaxSites) {
        return;
      }
      const std::string_view name = called_name(content_, node);
      const bool method = node.field("function").is("attribute");
      const bool own = !method && (script_.definitions.contains(name) || functions_.contains(name));
      const bool gradients =
          method && name == "grad" && content_.text_of(node.field("function")).ends_with("autograd.grad");
      if (own || gradients || is_any_of(name, {"backward", "manual_backward", "fit"}) || name.ends_with("Trainer")) {
        sites_.push_back({node, name, ancestors});
      }
      if (method && name == "step" && !steps_a_schedule(node)) {
        steps_.push_back(node);
        const Node closure = argument_of(content_, node, "closure", 0);
        if (closure.is("identifier") && functions_.contains(content_.text_of(closure))) {
          sites_.push_back({node, content_.text_of(closure), ancestors});  // the optimizer calls it
        }
      }
    });
  }

  /// `scheduler.step()`, `profiler.step()`: what is stepped is no optimizer.
  bool steps_a_schedule(Node call) const {
    const std::string_view object = content_.text_of(call.field("function").field("object"));
    return base::contains(object, "sched") || base::contains(object, "prof") || base::contains(object, "pbar");
  }

  bool has_step(Node node) const {
    return std::ranges::any_of(steps_, [&](Node step) {
      return step.span().begin >= node.span().begin && step.span().end <= node.span().end;
    });
  }

  /// The functions and classes around a site, the innermost last, as indices of its ancestors.
  static std::vector<std::size_t> functions_around(const std::vector<Node>& ancestors) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < ancestors.size(); ++i) {
      if (is_any_of(ancestors[i].type(), {"function_definition", "lambda", "class_definition"})) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// The innermost function that a site is in; empty: it is in none, or in a class or a lambda.
  std::string_view function_of(const std::vector<Node>& ancestors) const {
    const std::vector<std::size_t> around = functions_around(ancestors);
    const bool plain = !around.empty() && std::ranges::all_of(around, [&](std::size_t i) {
      return ancestors[i].is("function_definition");
    });
    return plain ? content_.text_of(ancestors[around.back()].field("name")) : std::string_view();
  }

  static bool is_backward(const Site& site) { return is_any_of(site.name, {"backward", "manual_backward", "grad"}); }

  void find_training_functions() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Site& site : sites_) {
        const std::string_view function = function_of(site.ancestors);
        const bool trains = is_backward(site) || script_.trains.contains(site.name);
        changed |= trains && !function.empty() && script_.trains.insert(function).second;
      }
    }
  }

  /// The loops around a site within its function, as indices of its ancestors, the innermost first.
  static std::vector<std::size_t> loops_around(const std::vector<Node>& ancestors) {
    const std::vector<std::size_t> functions = functions_around(ancestors);
    const std::size_t from = functions.empty() ? 0 : functions.back() + 1;
    std::vector<std::size_t> loops;
    for (std::size_t i = ancestors.size(); i > from; --i) {
      if (is_loop(ancestors[i - 1])) {
        loops.push_back(i - 1);
      }
    }
    return loops;
  }

  /// Whether a loop calls backward() itself, and not only in loops inside of it.
  bool calls_backward(Node loop) const {
    return std::ranges::any_of(sites_, [&](const Site& site) {
      const std::vector<std::size_t> loops = loops_around(site.ancestors);
      return is_backward(site) && !loops.empty() && site.ancestors[loops.front()].span().begin == loop.span().begin;
    });
  }

  /// The innermost loop over data around a site within its function. Else the innermost loop, or an outer one that
  /// calls backward() as well: of a GAN's critic, which steps several times for each step of the generator.
  std::optional<std::size_t> loop_with_backward(const std::vector<Node>& ancestors) const {
    std::optional<std::size_t> counting;
    for (const std::size_t i : loops_around(ancestors)) {
      if (!is_counting_loop(content_, ancestors[i])) {
        return i;
      }
      if (!counting.has_value() || calls_backward(ancestors[i])) {
        counting = i;
      }
    }
    return counting;
  }

  /// The loop whose body is a training step: where loop_with_backward() only accumulates gradients, the loop around it
  /// that steps the optimizer. A pass through all of the data with one step after it stays a loop over the data.
  std::optional<std::size_t> loop_around(const std::vector<Node>& ancestors) const {
    const auto inner = loop_with_backward(ancestors);
    if (!inner.has_value() || has_step(ancestors[*inner])) {
      return inner;
    }
    for (const std::size_t i : loops_around(ancestors)) {
      if (i < *inner && has_step(ancestors[i])) {
        return is_counting_loop(content_, ancestors[*inner]) || !is_counting_loop(content_, ancestors[i]) ? i : inner;
      }
    }
    return inner;
  }

  bool find_loop() {
    const auto in_loop = [&](bool direct) {
      for (const Site& site : sites_) {
        const bool trains = direct ? is_backward(site) : script_.trains.contains(site.name);
        const auto loop = trains ? loop_around(site.ancestors) : std::nullopt;
        if (loop.has_value() && take_loop(site, *loop)) {
          return true;
        }
      }
      return false;
    };
    return in_loop(true) || in_loop(false);
  }

  bool take_loop(const Site& site, std::size_t at) {
    const std::vector<Node> ancestors(site.ancestors.begin(), site.ancestors.begin() + static_cast<std::ptrdiff_t>(at));
    if (!functions_around(ancestors).empty() && function_of(ancestors).empty()) {
      std::string method;
      for (const std::size_t i : functions_around(ancestors)) {
        const Node name = ancestors[i].field("name");
        method += (method.empty() ? "" : ".") + std::string(name.exists() ? content_.text_of(name) : "lambda");
      }
      script_.method = std::move(method);
      return false;
    }
    const Node loop = site.ancestors[at];
    script_.form = TrainingForm::kLoop;
    script_.loop_target = loop.field("left");
    script_.loop_iterable = loop.field("right");
    for (const Node statement : loop.field("body").children()) {
      if (!statement.is("comment")) {
        script_.body.push_back(statement_of(statement, false));
      }
    }
    script_.method.clear();
    collect(ancestors, loop);
    return true;
  }

  bool find_trainer() {
    const bool lightning = std::ranges::any_of(
        script_.models, [](const auto& entry) { return entry.second.base == ModelBase::kLightning; });
    for (const Site& site : sites_) {
      const bool at_top = functions_around(site.ancestors).empty() || !function_of(site.ancestors).empty();
      const bool fit = lightning && site.name == "fit";
      const bool trainer = !lightning && site.name.ends_with("Trainer") && !script_.definitions.contains(site.name);
      if (at_top && (fit || trainer)) {
        script_.form = fit ? TrainingForm::kLightning : TrainingForm::kTrainer;
        script_.trainer = site.call;
        collect(site.ancestors, site.call);
        return true;
      }
    }
    if (lightning) {
      script_.form = TrainingForm::kLightning;
      collect_constructor();
    }
    return lightning;
  }

  bool find_model() {
    script_.form = TrainingForm::kModelOnly;
    if (!script_.models.empty()) {
      collect_constructor();
    }
    return !script_.models.empty();
  }

  /// What leads to where a model of the file is constructed; else what is at the top.
  void collect_constructor() {
    for (const Site& site : sites_) {
      const auto model = script_.models.find(site.name);
      const bool at_top = functions_around(site.ancestors).empty() || !function_of(site.ancestors).empty();
      if (model != script_.models.end() && !model->second.is_a_base && at_top) {
        collect(site.ancestors, site.call);
        for (const Node node : site.ancestors) {
          if (node.is("expression_statement")) {
            script_.statements.push_back(statement_of(node, false));
          }
        }
        return;
      }
    }
    collect({content_.root()}, Node());
  }

  ScriptStatement statement_of(Node node, bool of_module) const {
    ScriptStatement statement;
    statement.node = node;
    statement.names = names_in(content_, node);
    statement.of_module = of_module;
    statement.is_import =
        node.is("import_statement") || node.is("import_from_statement") || node.is("future_import_statement");
    const Node inner = undecorated(node);
    statement.is_definition = inner.is("function_definition") || inner.is("class_definition");
    statement.value = plain_assignment(node).second;
    return statement;
  }

  ScriptStatement bound(std::string_view name, Node value) const {
    ScriptStatement statement;
    statement.text = std::string(name) + " = " + std::string(content_.text_of(value));
    statement.value = value;
    statement.names = names_in(content_, value);
    statement.names.writes = {name};
    return statement;
  }

  /// The statements before `last`, whose ancestors are given, from the module to where it is.
  void collect(std::vector<Node> ancestors, Node last) {
    std::vector<std::vector<ScriptStatement>> levels;  // the innermost first
    NameSet visited;
    while (levels.size() < kMaxCallLevels) {
      const std::vector<std::size_t> functions = functions_around(ancestors);
      const bool in_function = !functions.empty();
      const std::size_t from = in_function ? functions.back() : 0;
      std::vector<ScriptStatement> level;
      const std::string_view function =
          in_function ? content_.text_of(ancestors[from].field("name")) : std::string_view();
      const auto call = std::ranges::find_if(sites_, [&](const Site& site) {
        return in_function && site.name == function && function_of(site.ancestors) != function;
      });
      if (in_function) {
        parameters(ancestors[from].field("parameters"), call != sites_.end() ? call->call : Node(), level);
      }
      siblings(ancestors, from, last, level);
      levels.push_back(std::move(level));
      if (!in_function) {
        break;
      }
      if (call == sites_.end() || !visited.insert(function).second) {
        // Nothing calls it: what is around it has run to its end.
        ancestors.resize(functions.size() > 1 ? from : 1);
        last = Node();
      } else {
        ancestors = call->ancestors;
        last = call->call;
      }
    }
    std::ranges::reverse(levels);
    for (std::vector<ScriptStatement>& level : levels) {
      std::ranges::move(level, std::back_inserter(script_.statements));
    }
  }

  /// What `call` gives the parameters.
  void parameters(Node list, Node call, std::vector<ScriptStatement>& level) {
    int position = 0;
    for (const Node parameter : list.exists() ? list.children() : std::vector<Node>()) {
      const Node inner = parameter.is("typed_parameter") ? parameter.children().front() : parameter;
      const Node name = inner.is("identifier") ? inner : inner.field("name");
      if (!name.is("identifier")) {
        continue;
      }
      const std::string_view text = content_.text_of(name);
      Node value = call.exists() ? argument_of(content_, call, text, position) : Node();
      ++position;
      if (!value.exists()) {
        value = inner.field("value");
      }
      if (!value.exists()) {
        script_.open.insert(text);
      } else if (!value.is("identifier") || content_.text_of(value) != text) {
        level.push_back(bound(text, value));
      }
    }
  }

  /// Adds what is before `last` in the blocks around it, below `ancestors[from]`; in a module also later definitions.
  void siblings(const std::vector<Node>& ancestors, std::size_t from, Node last, std::vector<ScriptStatement>& level) {
    for (std::size_t i = from; i < ancestors.size(); ++i) {
      const Node around = ancestors[i];
      const Node next = i + 1 < ancestors.size() ? ancestors[i + 1] : last;
      if (around.is("for_statement")) {
        loop_variable(around, level);
      }
      const bool module = around.is("module");
      if (!module && !around.is("block")) {
        continue;
      }
      for (const Node statement : around.children()) {
        const bool before = !next.exists() || statement.span().begin < next.span().begin;
        const bool definition = script_.definitions.contains(definition_name(statement)) && module;
        if (!statement.is("comment") && !is_main_guard(content_, statement) && (before || definition)) {
          add(statement, module, level);
        }
      }
    }
  }

  /// `model, optimizer = accelerator.prepare(net, Adam(…))` and `model = DDP(net)` are `model = net` and so on: they
  /// only prepare for several processes, and an entry point is of one.
  void add(Node statement, bool of_module, std::vector<ScriptStatement>& level) const {
    const Node assignment = assignment_in(statement);
    const Node call = assignment.field("right");
    const std::string_view called = called_name(content_, call);
    const Node left = assignment.field("left");
    std::vector<Node> names = left.is("pattern_list") ? left.children() : std::vector<Node>{left};
    std::erase_if(names, [](Node name) { return name.is(","); });
    const bool plain = std::ranges::all_of(names, [](Node name) { return name.is("identifier"); });
    const auto argument = [&](std::size_t i) { return argument_of(content_, call, {}, static_cast<int>(i)); };
    const bool prepares =
        called == "prepare" && argument(names.size() - 1).exists() && !argument(names.size()).exists();
    const bool wraps =
        names.size() == 1 && is_any_of(called, {"DistributedDataParallel", "DDP"}) && argument(0).exists();
    if (!plain || (!prepares && !wraps)) {
      level.push_back(statement_of(statement, of_module));
      return;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (content_.text_of(names[i]) != content_.text_of(argument(i))) {
        level.push_back(bound(content_.text_of(names[i]), argument(i)));
      }
    }
  }

  std::string_view definition_name(Node statement) const {
    const Node node = undecorated(statement);
    return node.is("function_definition") || node.is("class_definition") ? content_.text_of(node.field("name"))
                                                                         : std::string_view();
  }

  /// Adds the variable of a loop around the training loop, such as the one over the epochs.
  void loop_variable(Node loop, std::vector<ScriptStatement>& level) const {
    const Node target = loop.field("left");
    if (target.is("identifier")) {
      ScriptStatement statement;
      statement.text = std::string(content_.text_of(target)) + " = 0";
      statement.names.writes = {content_.text_of(target)};
      level.push_back(std::move(statement));
    }
  }

  /// Whether running a statement of the top trains, or does what may take as long.
  bool trains(Node statement) const {
    if (!definition_name(statement).empty() || is_main_guard(content_, statement)) {
      return false;
    }
    const bool assigns = plain_assignment(statement).first.exists();
    bool found = false;
    for_each_node(statement, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      const std::string_view name = called_name(content_, node);
      const bool own = node.field("function").is("identifier") && script_.definitions.contains(name);
      found |= is_loop(node) || (own && (!assigns || script_.trains.contains(name))) ||
               is_any_of(name, {"backward", "fit"}) || (name == "train" && !assigns);
    });
    return found;
  }

  const Content& content_;
  TrainingScript script_;
  NameSet functions_;  ///< names of functions that are in no class
  std::vector<Site> sites_;
  std::vector<Node> steps_;  ///< calls that step an optimizer
};

}  // namespace

bool is_main_guard(const SourceTree::Content& content, Node statement) {
  if (!statement.is("if_statement")) {
    return false;
  }
  const std::string_view condition = content.text_of(without_parentheses(statement.field("condition")));
  return condition.starts_with("__name__") || condition.ends_with("__name__");
}

base::Result<TrainingScript> read_training_script(const SourceTree::Content& content) {
  return ScriptReader(content).read();
}

bool is_counting_loop(const SourceTree::Content& content, Node loop) {
  const std::string_view called = called_name(content, without_parentheses(loop.field("right")));
  return loop.is("while_statement") || is_any_of(called, {"range", "trange", "count"});
}

bool constructs_model(const SourceTree::Content& content, const TrainingScript& script, Node call) {
  const std::string_view name = called_name(content, call);
  const auto own = script.models.find(name);
  if (own != script.models.end()) {
    return !name.ends_with("Loss") && !name.ends_with("Criterion");
  }
  const Node function = call.field("function");
  const std::string_view text = function.exists() ? content.text_of(function) : std::string_view();
  if (name == "from_pretrained" || name == "from_config") {
    const auto ends_so = [&](std::string_view other) {
      return content.text_of(function.field("object")).ends_with(other);
    };
    return !ends_so("Tokenizer") && !ends_so("TokenizerFast") && !ends_so("Processor") && !ends_so("Config") &&
           !ends_so("FeatureExtractor") && !ends_so("Scheduler");
  }
  if (text.starts_with("models.") || text.starts_with("torchvision.models.") || text == "timm.create_model" ||
      text == "nn.Sequential" || text == "torch.nn.Sequential" || text == "nn.Transformer" ||
      text == "torch.nn.Transformer" || name == "get_peft_model" || (name == "load" && text == "torch.hub.load")) {
    return true;
  }
  constexpr auto kTransformers = std::to_array<std::string_view>(
      {"LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
       "ForQuestionAnswering", "ForConditionalGeneration", "ForImageClassification", "ForPreTraining"});
  return std::ranges::any_of(kTransformers, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_part_of_step(const TrainingScript& script, const StatementNames& names) {
  return std::ranges::any_of(names.calls, [&](const CalledName& call) {
    if (call.name == "step") {
      return !call.root.starts_with("prof") && !call.root.starts_with("pbar") && !call.root.empty();
    }
    if (call.name == "update") {
      return call.root.ends_with("scaler") || call.root.starts_with("ema");
    }
    return (call.root.empty() && script.trains.contains(call.name)) ||
           is_any_of(call.name, {"backward", "manual_backward", "grad", "zero_grad", "clip_grad_norm_",
                                 "clip_grad_value_", "unscale_", "parameters"});
  });
}

const ScriptStatement* assignment_of(const TrainingScript& script, std::string_view name) {
  for (std::size_t i = script.statements.size(); i > 0; --i) {
    const ScriptStatement& statement = script.statements[i - 1];
    if (statement.names.writes.contains(name) && statement.value.exists()) {
      return &statement;
    }
  }
  return nullptr;
}

Node argument_of(const SourceTree::Content& content, Node call, std::string_view keyword, int position) {
  const Node list = call.is("call") ? call.field("arguments") : Node();
  if (!list.is("argument_list")) {
    return {};
  }
  int at = 0;
  Node positional;
  for (const Node argument : list.children()) {
    if (argument.is("keyword_argument")) {
      if (content.text_of(argument.field("name")) == keyword) {
        return argument.field("value");
      }
    } else if (argument.is("list_splat") || argument.is("dictionary_splat")) {
      at = -1'000'000;  // what follows has no position that the text tells
    } else if (!argument.is("(") && !argument.is(")") && !argument.is(",") && !argument.is("comment")) {
      if (at++ == position) {
        positional = argument;
      }
    }
  }
  return positional;
}

}  // namespace ridgeline::source
