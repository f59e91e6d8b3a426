#include "protocol/json_rpc.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace ridgeline::protocol {
namespace {

using ::testing::HasSubstr;

template <typename Kind>
Kind read(const std::string& text) {
  auto got = parse_message(text);
  EXPECT_TRUE(std::holds_alternative<Message>(got)) << text;
  return std::get<Kind>(std::get<Message>(got));
}

Malformed refuse(const std::string& text) {
  auto got = parse_message(text);
  EXPECT_TRUE(std::holds_alternative<Malformed>(got)) << text;
  return std::get<Malformed>(got);
}

void expect_invalid(const std::string& text, const std::string& words) {
  const Malformed malformed = refuse(text);
  EXPECT_EQ(malformed.error.code, error_code::kInvalidRequest) << text;
  EXPECT_THAT(malformed.error.message, HasSubstr(words)) << text;
}

TEST(ParseMessage, ReadsRequests) {
  const auto request = read<Request>(R"({"jsonrpc":"2.0","id":7,"method":"a/b","params":{"x":1},"more":2})");
  EXPECT_EQ(request.id, RequestId(7));
  EXPECT_EQ(request.method, "a/b");
  EXPECT_EQ(request.params, Json({{"x", 1}}));
  EXPECT_EQ(read<Request>(R"({"jsonrpc":"2.0","id":"7","method":"m"})").id, RequestId("7"));
  EXPECT_EQ(read<Request>(R"({"jsonrpc":"2.0","id":7.0,"method":"m"})").id, RequestId(7));
  EXPECT_EQ(read<Request>(R"({"jsonrpc":"2.0","id":-1,"method":"m","params":[1]})").params, Json({1}));
}

TEST(ParseMessage, ReadsNotifications) {
  EXPECT_EQ(read<Notification>(R"({"jsonrpc":"2.0","method":"exit"})").method, "exit");
  EXPECT_TRUE(read<Notification>(R"({"jsonrpc":"2.0","method":"exit","params":null})").params.is_null());
}

TEST(ParseMessage, ReadsResponses) {
  EXPECT_EQ(std::get<Json>(read<Response>(R"({"jsonrpc":"2.0","id":1,"result":null})").outcome), Json());
  EXPECT_EQ(std::get<Json>(read<Response>(R"({"jsonrpc":"2.0","id":1,"result":2,"error":null})").outcome), Json(2));
  const auto failed = read<Response>(R"({"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no","data":[3]}})");
  EXPECT_FALSE(failed.id.has_value());
  const auto& error = std::get<ResponseError>(failed.outcome);
  EXPECT_EQ(error.code, -1);
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(error.data, Json({3}));
}

TEST(ParseMessage, RefusesWhatIsNoJson) {
  for (const char* text :
       {"", "{", "nonsense", "{\"jsonrpc\":\"2.0\"}}", "\xff", "{\"a\":\"\xc3\x28\"}", "1e999", "[1,2"}) {
    const Malformed malformed = refuse(text);
    EXPECT_EQ(malformed.error.code, error_code::kParseError) << text;
    EXPECT_THAT(malformed.error.message, ::testing::Not(HasSubstr("json.exception")));
    EXPECT_FALSE(malformed.id.has_value());
  }
}

TEST(ParseMessage, RefusesBatches) {
  expect_invalid("[]", "batches");
  expect_invalid(R"([{"jsonrpc":"2.0","id":1,"method":"m"}])", "batches");
}

TEST(ParseMessage, RefusesWhatIsNoMessage) {
  expect_invalid("null", "an object");
  expect_invalid("7", "an object");
  expect_invalid("{}", "jsonrpc");
  expect_invalid(R"({"jsonrpc":2.0,"id":1,"method":"m"})", "jsonrpc");
  expect_invalid(R"({"jsonrpc":"1.0","id":1,"method":"m"})", "jsonrpc");
  expect_invalid(R"({"jsonrpc":"2.0"})", "not a request");
  expect_invalid(R"({"jsonrpc":"2.0","id":1})", "not a request");
  expect_invalid(R"({"jsonrpc":"2.0","id":1,"method":1})", "method");
  expect_invalid(R"({"jsonrpc":"2.0","id":1,"method":"m","params":3})", "params");
  expect_invalid(R"({"jsonrpc":"2.0","id":null,"method":"m"})", "id");
  expect_invalid(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", "id");
  expect_invalid(R"({"jsonrpc":"2.0","id":99999999999999999999,"method":"m"})", "id");
  expect_invalid(R"({"jsonrpc":"2.0","id":{},"method":"m"})", "id");
}

TEST(ParseMessage, KeepsTheIdOfAMalformedRequest) {
  EXPECT_EQ(refuse(R"({"jsonrpc":"2.0","id":5,"method":"m","params":3})").id, RequestId(5));
  EXPECT_EQ(refuse(R"({"id":5,"method":"m"})").id, RequestId(5));
}

TEST(ParseMessage, KnowsAMalformedResponse) {
  for (const char* text : {R"({"jsonrpc":"2.0","result":1})", R"({"jsonrpc":"2.0","id":1,"error":"no"})",
                           R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})", R"({"id":1,"result":1})"}) {
    EXPECT_TRUE(refuse(text).is_response) << text;
  }
  EXPECT_FALSE(refuse("{}").is_response);
}

TEST(ParseMessage, TakesTheLastOfTwoMembers) {
  EXPECT_EQ(read<Notification>(R"({"jsonrpc":"2.0","method":"a","method":"b"})").method, "b");
  EXPECT_EQ(read<Notification>(R"({"jsonrpc":"2.0","method":"a","params":{"x":[1]},"params":{"y":2}})").params,
            Json({{"y", 2}}));
}

std::string nested(std::size_t depth) {
  return R"({"jsonrpc":"2.0","method":"m","params":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

TEST(ParseMessage, BoundsNesting) {
  read<Notification>(nested(kMaxNesting - 1));
  expect_invalid(nested(kMaxNesting), "nested deeper");
  expect_invalid(nested(10'000'000), "nested deeper");
  expect_invalid(std::string(1'000'000, '['), "nested deeper");
  read<Notification>(R"({"jsonrpc":"2.0","method":")" + std::string(1000, '[') + R"(\"[[["})");
}

TEST(ParseMessage, BoundsTheNumberOfValues) {
  std::string many = R"({"jsonrpc":"2.0","method":"m","params":[1)";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) {
    many += ",1";
  }
  expect_invalid(many + "]}", "values");
}

TEST(ParseMessage, MendsHalfASurrogatePair) {
  const auto text_of = [](const std::string& escaped) {
    return read<Notification>(R"({"jsonrpc":"2.0","method":"m","params":[")" + escaped + "\"]}")
        .params[0]
        .get<std::string>();
  };
  EXPECT_EQ(text_of(R"(\ud83d\ude00)"), "😀");
  EXPECT_EQ(text_of(R"(a\ud83d)"), "a\uFFFD");
  EXPECT_EQ(text_of(R"(\ude00b)"), "\uFFFDb");
  EXPECT_EQ(text_of(R"(\ud83d\ud83d\ude00)"), "\uFFFD😀");
  EXPECT_EQ(text_of(R"(\ud83dA)"), "\uFFFDA");
  EXPECT_EQ(text_of(R"(\\ud83d)"), R"(\ud83d)");
}

TEST(ParseMessage, SurvivesWhatIsCutAndChanged) {
  const std::string good =
      R"({"jsonrpc":"2.0","id":"a\ud83d\ude00","method":"m","params":{"x":[1,-2.5e3,true,null,"\\"]}})";
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(std::holds_alternative<Malformed>(parse_message(good.substr(0, length))));
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = good;
    for (int change = 0; change < 3; ++change) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    parse_message(changed);
  }
}

TEST(Encode, WritesWhatIsReadAgain) {
  EXPECT_EQ(Json::parse(encode(Request{"x", "m", {{"a", 1}}})),
            Json::parse(R"({"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1}})"));
  EXPECT_EQ(Json::parse(encode(Notification{"m", {}})), Json::parse(R"({"jsonrpc":"2.0","method":"m"})"));
  EXPECT_EQ(Json::parse(encode(Response{RequestId(1), Json()})),
            Json::parse(R"({"jsonrpc":"2.0","id":1,"result":null})"));
  EXPECT_EQ(Json::parse(encode(Response{{}, ResponseError{-5, "no", {1}}})),
            Json::parse(R"({"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"no","data":[1]}})"));
}

TEST(Encode, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(Json::parse(encode(Notification{"m", {{"a", "x\xff"}}}))["params"]["a"], "x\uFFFD");
}

TEST(Encode, StaysOnOneLine) { EXPECT_EQ(encode(Notification{"m", {{"a", "1\n2"}}}).find('\n'), std::string::npos); }

}  // namespace
}  // namespace ridgeline::protocol
