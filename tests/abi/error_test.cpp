#include <gtest/gtest.h>
#include <loupe/error.h>

namespace loupe {
namespace {

TEST(ErrorBuffer, TerminatesATextThatFillsIt) {
  detail::ErrorBuffer error;
  std::memset(error.get()->message, 'x', error.get()->capacity);  // without a terminating 0, like C's strncpy
  EXPECT_EQ(std::strlen(error.text()), error.get()->capacity);
}

TEST(ErrorBuffer, CutsAMessageToFit) {
  detail::ErrorBuffer error;
  detail::write_error(error.get(), std::string(5000, 'x').c_str());
  EXPECT_EQ(std::strlen(error.text()), error.get()->capacity - 1u);
  EXPECT_THROW(error.check(LOUPE_FAILED), Error);
}

TEST(ErrorBuffer, HasAMessageForACallThatGaveNoReason) {
  const detail::ErrorBuffer error;
  try {
    error.check(LOUPE_NOT_FOUND);
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "it gave no reason");
    EXPECT_EQ(e.status(), LOUPE_NOT_FOUND);
  }
}

TEST(Guarded, TurnsEveryExceptionIntoAStatusAndAMessage) {
  const auto outcome = [](auto body) {
    detail::ErrorBuffer error;
    const loupe_status status = detail::guarded(error.get(), body);
    return std::to_string(status) + " " + error.text();
  };
  EXPECT_EQ(outcome([] {}), "0 it gave no reason");
  EXPECT_EQ(outcome([] { throw Error("a", LOUPE_NOT_FOUND); }), "2 a");
  EXPECT_EQ(outcome([] { throw Error("a", LOUPE_OK); }), "4 a");  // a thrown error never has the status OK
  EXPECT_EQ(outcome([] { throw std::runtime_error("b"); }), "4 b");
  EXPECT_EQ(outcome([] { throw 3; }), "4 an exception that is not a std::exception was thrown");
}

TEST(Guarded, WorksWithoutABufferForTheMessage) {
  EXPECT_EQ(detail::guarded(nullptr, [] { throw Error("a"); }), LOUPE_FAILED);
}

}  // namespace
}  // namespace loupe
