#include "ingest/trace_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "base/path.h"
#include "base/text.h"

namespace ridgeline::ingest {

namespace {

using base::contains;

/// Top-level names of the standard library, and of packages that training code often uses, each between blanks.
constexpr std::string_view kLibraries =
    " IPython PIL __future__ _collections_abc _weakrefset abc accelerate apex argparse ast asyncio bdb bisect"
    " calendar cProfile codecs collections concurrent configparser contextlib copy copyreg csv ctypes cv2"
    " dataclasses datasets datetime decimal deepspeed dill dis einops email encodings enum filelock flash_attn"
    " fnmatch fractions fsspec functools functorch genericpath getpass glob gzip hashlib heapq http"
    " huggingface_hub importlib inspect io ipykernel jinja2 json keyword lightning linecache locale logging"
    " matplotlib multiprocessing networkx ntpath numbers numpy opcode operator os pandas pathlib pdb pickle"
    " platform posixpath pprint psutil pytorch_lightning queue random re regex reprlib requests runpy"
    " safetensors sched scipy selectors shutil signal site sklearn socket sre_compile sre_parse ssl stat"
    " statistics string struct subprocess sympy sysconfig tarfile tempfile tensorboard textwrap threading"
    " timeit timm tokenize tokenizers torch torchaudio torchgen torchmetrics torchtext torchvision tornado"
    " tqdm traceback traitlets transformers triton types typing typing_extensions unittest urllib uuid"
    " warnings weakref xformers yaml zipfile zmq ";

bool is_library(std::string_view file) {
  if (file.starts_with('<') || contains(file, "site-packages/") || contains(file, "dist-packages/") ||
      contains(file, "/lib/python3")) {
    return true;
  }
  std::string_view first = file.substr(0, file.find('/'));
  if (first.size() == file.size() && first.ends_with(".py")) {
    first.remove_suffix(3);
  }
  std::string word = " ";
  word.append(first).append(" ");
  return contains(kLibraries, word);
}

/// Empty above the topmost.
std::string folder_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(file.substr(0, slash));
}

/// Also "C:/train.py", whatever this machine runs.
bool is_absolute(std::string_view file) {
  const bool on_drive = file.size() > 2 && std::isalpha(static_cast<unsigned char>(file[0])) != 0 && file[1] == ':';
  return file.substr(on_drive ? 2 : 0).starts_with('/');
}

}  // namespace

bool split_frame(std::string_view frame, std::string_view& file, std::uint32_t& line, std::string_view& function) {
  const std::size_t close = frame.rfind("): ");
  const std::size_t open = close == std::string_view::npos ? close : frame.rfind('(', close);
  if (open == std::string_view::npos || open == 0) {
    return false;
  }
  const std::string_view digits = frame.substr(open + 1, close - open - 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return false;
  }
  file = frame.substr(0, open);
  function = frame.substr(close + 3);
  return true;
}

TraceFiles::TraceFiles(const std::vector<std::string_view>& files, const std::string& root, const std::string& current,
                       Exists exists)
    : exists_(exists) {
  const bool given = !root.empty();
  root_ = given ? root : current;
  bool here = false;
  std::string common;
  for (const std::string_view file : files) {
    if (is_library(file)) {
      continue;
    }
    if (!is_absolute(file)) {
      here = here || exists_(root_ + "/" + std::string(file));
      continue;
    }
    here = here || base::is_below(file, root_);
    if (common.empty()) {
      common = folder_of(file);
    }
    while (!common.empty() && !base::is_below(file, common)) {
      common = folder_of(common);
    }
  }
  guessed_ = !here;
  if (!given && !here && !common.empty()) {
    root_ = common;
  }
}

std::string TraceFiles::absolute(std::string_view file) const {
  if (contains(file, "../")) {
    return "/site-packages/" + std::string(file);  // nothing is to be looked up outside the root
  }
  if (is_absolute(file)) {
    return std::string(file);
  }
  const std::string below = root_ + "/" + std::string(file);
  const bool users = !file.starts_with('<') && (guessed_ ? !is_library(file) : exists_(below));
  return users ? below : "/site-packages/" + std::string(file);
}

std::vector<analysis::CodePackage> packages_in(const std::vector<std::string_view>& files,
                                               const std::vector<std::string>& code, const TraceFiles& names) {
  std::vector<analysis::CodePackage> packages;
  for (const std::string& name : code) {
    std::string path = name;
    std::ranges::replace(path, '.', '/');
    std::set<std::string> places;
    for (const std::string_view file : files) {
      const std::string absolute = names.absolute(file);
      const std::string_view installed = base::installed_path(absolute).value_or("");
      const bool is_module = installed == path + ".py";
      if (is_module || base::is_below(installed, path)) {
        places.insert(is_module ? absolute : absolute.substr(0, absolute.size() - installed.size() + path.size()));
      }
    }
    if (!places.empty()) {
      packages.push_back({name, {places.begin(), places.end()}});
    }
  }
  return packages;
}

}  // namespace ridgeline::ingest
