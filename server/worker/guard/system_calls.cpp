#include "worker/guard/system_calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ridgeline::worker {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "Which system calls change files is not known for this architecture."
#endif

// Newer than the headers that this may be built with; the same on all architectures.
constexpr int kFchmodat2 = 452;
constexpr int kSetxattrat = 463;
constexpr int kRemovexattrat = 466;
constexpr int kFileSetattr = 469;

constexpr PathArgument at(int folder, int path, Change change, bool follows = false) {
  return {path, folder, follows, change};
}
constexpr PathArgument here(int path, Change change, bool follows = false) { return {path, kNone, follows, change}; }
constexpr PathArgument descriptor(int number) { return {kNone, number, true, Change::kAlter}; }

constexpr bool kFollows = true;
constexpr SystemCall paths(const char* name, int number, PathArgument first, PathArgument second = {}) {
  return {name, number, Reads::kPaths, kNone, first, second};
}
constexpr SystemCall alters(const char* name, int number, int flags) {
  return {name, number, Reads::kPaths, flags, at(0, 1, Change::kAlter, kFollows), {}};
}

constexpr auto kCalls = std::to_array<SystemCall>({
#ifdef SYS_open  // the calls that newer architectures do not have
    {"open", SYS_open, Reads::kOpenFlags, 1, here(0, Change::kOpen, kFollows), {}},
    {"creat", SYS_creat, Reads::kOpenFlags, kNone, here(0, Change::kOpen, kFollows), {}},
    paths("mkdir", SYS_mkdir, here(0, Change::kMake)),
    paths("mknod", SYS_mknod, here(0, Change::kMake)),
    paths("symlink", SYS_symlink, here(1, Change::kMake)),
    paths("link", SYS_link, here(0, Change::kLinked), here(1, Change::kMake)),
    paths("unlink", SYS_unlink, here(0, Change::kRemove)),
    paths("rmdir", SYS_rmdir, here(0, Change::kRemove)),
    paths("rename", SYS_rename, here(0, Change::kRemove), here(1, Change::kReplace)),
    paths("chmod", SYS_chmod, here(0, Change::kAlter, kFollows)),
    paths("chown", SYS_chown, here(0, Change::kAlter, kFollows)),
    paths("lchown", SYS_lchown, here(0, Change::kAlter)),
    paths("utime", SYS_utime, here(0, Change::kAlter, kFollows)),
    paths("utimes", SYS_utimes, here(0, Change::kAlter, kFollows)),
    paths("futimesat", SYS_futimesat, at(0, 1, Change::kAlter, kFollows)),
#endif
#ifdef SYS_renameat
    paths("renameat", SYS_renameat, at(0, 1, Change::kRemove), at(2, 3, Change::kReplace)),
#endif
    {"openat", SYS_openat, Reads::kOpenFlags, 2, at(0, 1, Change::kOpen, kFollows), {}},
    {"openat2", SYS_openat2, Reads::kOpenStructure, 2, at(0, 1, Change::kOpen, kFollows), {}},
    paths("mkdirat", SYS_mkdirat, at(0, 1, Change::kMake)),
    paths("mknodat", SYS_mknodat, at(0, 1, Change::kMake)),
    paths("symlinkat", SYS_symlinkat, at(1, 2, Change::kMake)),
    paths("linkat", SYS_linkat, at(0, 1, Change::kLinked, kFollows), at(2, 3, Change::kMake)),
    paths("unlinkat", SYS_unlinkat, at(0, 1, Change::kRemove)),
    paths("renameat2", SYS_renameat2, at(0, 1, Change::kRemove), at(2, 3, Change::kReplace)),
    paths("truncate", SYS_truncate, here(0, Change::kAlter, kFollows)),
    paths("fchmod", SYS_fchmod, descriptor(0)),
    paths("fchmodat", SYS_fchmodat, at(0, 1, Change::kAlter, kFollows)),
    alters("fchmodat2", kFchmodat2, 3),
    paths("fchown", SYS_fchown, descriptor(0)),
    alters("fchownat", SYS_fchownat, 4),
    alters("utimensat", SYS_utimensat, 3),
    paths("setxattr", SYS_setxattr, here(0, Change::kAlter, kFollows)),
    paths("lsetxattr", SYS_lsetxattr, here(0, Change::kAlter)),
    paths("fsetxattr", SYS_fsetxattr, descriptor(0)),
    alters("setxattrat", kSetxattrat, 2),
    paths("removexattr", SYS_removexattr, here(0, Change::kAlter, kFollows)),
    paths("lremovexattr", SYS_lremovexattr, here(0, Change::kAlter)),
    paths("fremovexattr", SYS_fremovexattr, descriptor(0)),
    alters("removexattrat", kRemovexattrat, 2),
    alters("file_setattr", kFileSetattr, 4),
    {"bind", SYS_bind, Reads::kAddress, 1, {}, {}},
    {"connect", SYS_connect, Reads::kAddress, 1, {}, {}},
    {"sendto", SYS_sendto, Reads::kAddress, 4, {}, {}},
});

struct Missing {
  int number;
  int error;
};

/// Through these, files could be changed by another name, or without a system call of their own.
constexpr auto kMissing = std::to_array<Missing>({
    {SYS_io_uring_setup, ENOSYS},
    {SYS_open_by_handle_at, EPERM},
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_move_mount, EPERM},
    {SYS_open_tree, EPERM},
    {SYS_fsopen, EPERM},
    {SYS_fsmount, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_chroot, EPERM},
    {SYS_setns, EPERM},
});

constexpr std::uint32_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC;

constexpr std::uint32_t argument_at(int number) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    sizeof(std::uint64_t) * static_cast<unsigned>(number));
}

class FilterText {
 public:
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
  void give(std::uint32_t answer) { add(BPF_RET | BPF_K, answer, 0, 0); }
  /// Continues where the comparison holds, else skips `skipped` instructions.
  void when(std::uint16_t comparison, std::uint32_t value, std::uint8_t skipped) {
    add(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, skipped);
  }
  /// Skips `skipped` instructions where the comparison holds.
  void unless(std::uint16_t comparison, std::uint32_t value, std::uint8_t skipped) {
    add(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, skipped, 0);
  }
  std::vector<sock_filter> take() { return std::move(text_); }

 private:
  void add(std::uint16_t code, std::uint32_t value, std::uint8_t when_true, std::uint8_t when_false) {
    text_.push_back({code, when_true, when_false, value});
  }

  std::vector<sock_filter> text_;
};

}  // namespace

const SystemCall* system_call(int number) {
  const auto* const call = std::ranges::find(kCalls, number, &SystemCall::number);
  return call == kCalls.end() ? nullptr : call;
}

std::vector<sock_filter> notifying_filter() {
  constexpr std::uint32_t kAbsent = SECCOMP_RET_ERRNO | ENOSYS;
  FilterText text;
  text.load(offsetof(seccomp_data, arch));  // 32-bit programs have calls of other numbers
  text.unless(BPF_JEQ, kArchitecture, 1);
  text.give(kAbsent);
  text.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  text.when(BPF_JGE, 0x40000000U, 1);  // and so have those of x32
  text.give(kAbsent);
#endif
  for (const SystemCall& call : kCalls) {
    const auto number = static_cast<std::uint32_t>(call.number);
    if (call.reads == Reads::kOpenFlags && call.flags != kNone) {
      text.when(BPF_JEQ, number, 4);
      text.load(argument_at(call.flags));
      text.when(BPF_JSET, kWriting, 1);
      text.give(SECCOMP_RET_USER_NOTIF);
      text.give(SECCOMP_RET_ALLOW);
    } else if (call.number == SYS_sendto) {  // mostly without an address
      text.when(BPF_JEQ, number, 7);
      text.load(argument_at(call.flags));
      text.when(BPF_JSET, 0xffffffffU, 1);
      text.give(SECCOMP_RET_USER_NOTIF);
      text.load(argument_at(call.flags) + sizeof(std::uint32_t));
      text.when(BPF_JSET, 0xffffffffU, 1);
      text.give(SECCOMP_RET_USER_NOTIF);
      text.give(SECCOMP_RET_ALLOW);
    } else {
      text.when(BPF_JEQ, number, 1);
      text.give(SECCOMP_RET_USER_NOTIF);
    }
  }
  for (const Missing& call : kMissing) {
    text.when(BPF_JEQ, static_cast<std::uint32_t>(call.number), 1);
    text.give(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(call.error));
  }
  text.give(SECCOMP_RET_ALLOW);
  return text.take();
}

}  // namespace ridgeline::worker
