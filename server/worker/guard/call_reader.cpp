#include "worker/guard/call_reader.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>

namespace ridgeline::worker {

namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::size_t kPage = 4096;
constexpr std::uint16_t kNamesPort = 53;

enum class Memory { kRead, kInvalid, kForbidden };

/// At most `size` bytes from `address` on; fewer where the memory ends.
Memory read_memory(pid_t process, std::uint64_t address, std::size_t size, std::string& bytes) {
  bytes.resize(size);
  const iovec ours{bytes.data(), size};
  const iovec theirs{reinterpret_cast<void*>(address), size};  // NOLINT: of another process
  const ssize_t count = ::process_vm_readv(process, &ours, 1, &theirs, 1, 0);
  if (count < 0) {
    bytes.clear();
    return errno == EFAULT ? Memory::kInvalid : Memory::kForbidden;
  }
  bytes.resize(static_cast<std::size_t>(count));
  return Memory::kRead;
}

/// A text that ends with a null. Page by page: what follows it need not be readable.
Memory read_text(pid_t process, std::uint64_t address, std::string& text) {
  text.clear();
  while (text.size() < PATH_MAX) {
    std::string part;
    const Memory memory = read_memory(process, address, kPage - address % kPage, part);
    if (memory != Memory::kRead || part.empty()) {
      return memory;
    }
    const std::size_t end = part.find('\0');
    text.append(part, 0, end);
    if (end != std::string::npos) {
      return Memory::kRead;
    }
    address += part.size();
  }
  return Memory::kInvalid;  // too long for a path
}

std::string of_process(pid_t process, const std::string& name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

/// Empty where it is no link.
std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// In front of what is still to be walked.
void push_parts(std::deque<std::string>& parts, const std::string& path) {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) {
      found.push_back(path.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  parts.insert(parts.begin(), found.begin(), found.end());
}

Found found_at(const std::string& path, struct stat& status) {
  if (::lstat(path.c_str(), &status) != 0) {
    struct stat folder {};
    const std::string parent = std::filesystem::path(path).parent_path();
    return ::stat(parent.c_str(), &folder) == 0 && S_ISDIR(folder.st_mode) ? Found::kNothing : Found::kNoFolder;
  }
  return S_ISREG(status.st_mode)   ? Found::kFile
         : S_ISDIR(status.st_mode) ? Found::kFolder
         : S_ISCHR(status.st_mode) ? Found::kDevice
                                   : Found::kOther;
}

bool may_write(const std::string& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

Target target_at(const std::string& path, Change change) {
  struct stat status {};
  Target target{path, found_at(path, status), true};
  const bool in_folder = change == Change::kMake || change == Change::kRemove || change == Change::kReplace;
  if (target.found == Found::kNothing || (in_folder && target.found != Found::kNoFolder)) {
    target.permitted = may_write(std::filesystem::path(path).parent_path());
  } else if (target.found == Found::kFile || change == Change::kAlter) {
    target.permitted = may_write(path) || (change == Change::kAlter && status.st_uid == ::geteuid());
  }
  return target;
}

/// The absolute path of a descriptor, or of the working folder; empty where it is none of a file.
std::string place_of(pid_t process, const PathArgument& argument, const seccomp_notif& notification) {
  const int descriptor =
      argument.folder == kNone ? AT_FDCWD : static_cast<int>(notification.data.args[argument.folder]);
  const std::string place =
      link_target(of_process(process, descriptor == AT_FDCWD ? "cwd" : "fd/" + std::to_string(descriptor)));
  return place.starts_with('/') ? place : "";
}

/// Reads the flags for opening; for other calls O_NOFOLLOW alone.
Memory flags_of(const seccomp_notif& notification, const SystemCall& call, int& flags) {
  const std::uint64_t argument = call.flags == kNone ? 0 : notification.data.args[call.flags];
  if (call.reads == Reads::kPaths) {
    flags = (argument & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  } else if (call.reads == Reads::kOpenFlags) {
    flags = call.flags == kNone ? O_CREAT | O_WRONLY | O_TRUNC : static_cast<int>(argument);
  } else {
    std::string bytes;
    std::uint64_t value = 0;
    const Memory memory = read_memory(static_cast<pid_t>(notification.pid), argument, sizeof(value), bytes);
    if (memory != Memory::kRead || bytes.size() != sizeof(value)) {
      return memory == Memory::kForbidden ? memory : Memory::kInvalid;
    }
    std::memcpy(&value, bytes.data(), sizeof(value));
    flags = static_cast<int>(value);
  }
  return Memory::kRead;
}

/// Adds what the argument names to `attempts`; nothing where the call will fail, or names no file.
Memory read_attempt(const seccomp_notif& notification, const PathArgument& argument, int flags,
                    std::vector<Attempt>& attempts) {
  const auto process = static_cast<pid_t>(notification.pid);
  std::string path;
  const std::uint64_t address = argument.path == kNone ? 0 : notification.data.args[argument.path];
  if (address != 0) {
    if (const Memory memory = read_text(process, address, path); memory != Memory::kRead) {
      return memory;
    }
  }
  const bool is_of_descriptor = argument.change == Change::kAlter || argument.change == Change::kLinked;
  const std::string place = path.starts_with('/') ? "/" : place_of(process, argument, notification);
  if (place.empty() || (address != 0 && path.empty() && (argument.folder == kNone || !is_of_descriptor))) {
    return Memory::kRead;
  }
  constexpr int kNew = O_CREAT | O_EXCL;
  const bool follows = argument.follows && (flags & O_NOFOLLOW) == 0 && (flags & kNew) != kNew;
  if (const auto canonical = canonical_path(place, path, follows, process)) {
    attempts.push_back({argument.change, flags, target_at(*canonical, argument.change)});
  }
  return Memory::kRead;
}

bool is_own_address(const sockaddr* address, std::size_t offset, std::size_t size) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return false;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == address->sa_family &&
        std::memcmp(reinterpret_cast<const char*>(one->ifa_addr) + offset,  // NOLINT: as sockets have it
                    reinterpret_cast<const char*>(address) + offset, size) == 0) {
      return true;
    }
  }
  return false;
}

std::string with_port(const std::string& host, std::uint16_t port) { return host + ":" + std::to_string(port); }

Address internet_address(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  const std::uint32_t host = ntohl(address.sin_addr.s_addr);
  const std::uint16_t port = ntohs(address.sin_port);
  const auto* const base = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: as sockets have it
  const bool near = host >> 24U == 127 || host == 0 || port == kNamesPort ||
                    is_own_address(base, offsetof(sockaddr_in, sin_addr), sizeof(in_addr));
  return {with_port(text.data(), port), false, near};
}

Address internet_address(const sockaddr_in6& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    sockaddr_in inner{};
    inner.sin_family = AF_INET;
    inner.sin_port = address.sin6_port;
    std::memcpy(&inner.sin_addr, address.sin6_addr.s6_addr + 12, sizeof(in_addr));
    return internet_address(inner);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  const std::uint16_t port = ntohs(address.sin6_port);
  const auto* const base = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: as sockets have it
  const bool near = IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr) ||
                    port == kNamesPort || is_own_address(base, offsetof(sockaddr_in6, sin6_addr), sizeof(in6_addr));
  return {with_port("[" + std::string(text.data()) + "]", port), false, near};
}

}  // namespace

std::optional<std::string> canonical_path(const std::string& from, const std::string& path, bool follows,
                                          pid_t process) {
  std::deque<std::string> parts;
  push_parts(parts, path);
  std::string walked = path.starts_with('/') || from == "/" ? "" : from;
  for (int links = 0; !parts.empty();) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == ".") {
      continue;
    }
    if (part == "..") {
      walked.resize(walked.empty() ? 0 : walked.rfind('/'));
      continue;
    }
    if (walked == "/proc" && (part == "self" || part == "thread-self")) {
      walked += "/" + std::to_string(process);
      continue;
    }
    const std::string next = walked + "/" + part;
    const std::string target = parts.empty() && !follows ? "" : link_target(next);
    if (target.empty()) {
      walked = next;
      continue;
    }
    if (++links > kMostLinks) {
      return std::nullopt;
    }
    push_parts(parts, target);
    if (target.starts_with('/')) {
      walked.clear();
    }
  }
  return walked.empty() ? "/" : walked;
}

bool can_read_memory(pid_t process) {
  std::string byte;
  const char place = 0;
  return read_memory(process, reinterpret_cast<std::uint64_t>(&place), 1, byte) != Memory::kForbidden;  // NOLINT
}

std::optional<std::vector<Attempt>> read_attempts(const seccomp_notif& notification, const SystemCall& call) {
  std::vector<Attempt> attempts;
  int flags = 0;
  Memory memory = flags_of(notification, call, flags);
  for (const PathArgument& argument : {call.first, call.second}) {
    if (memory == Memory::kRead && (argument.path != kNone || argument.folder != kNone)) {
      memory = read_attempt(notification, argument, flags, attempts);
    }
  }
  if (memory == Memory::kForbidden) {
    return std::nullopt;
  }
  return memory == Memory::kRead ? attempts : std::vector<Attempt>();
}

std::optional<Address> read_address(const seccomp_notif& notification, const SystemCall& call) {
  const std::size_t size = std::min<std::size_t>(notification.data.args[call.flags + 1], sizeof(sockaddr_storage));
  std::string bytes;
  sockaddr_storage storage{};
  if (read_memory(static_cast<pid_t>(notification.pid), notification.data.args[call.flags], size, bytes) !=
      Memory::kRead) {
    return std::nullopt;
  }
  std::memcpy(&storage, bytes.data(), bytes.size());
  if (storage.ss_family == AF_INET) {
    return internet_address(reinterpret_cast<const sockaddr_in&>(storage));  // NOLINT: as sockets have it
  }
  if (storage.ss_family == AF_INET6) {
    return internet_address(reinterpret_cast<const sockaddr_in6&>(storage));  // NOLINT: as sockets have it
  }
  const std::string path = bytes.size() > sizeof(sa_family_t) ? std::string(bytes.c_str() + sizeof(sa_family_t)) : "";
  if (storage.ss_family != AF_UNIX || path.empty()) {
    return std::nullopt;
  }
  const auto process = static_cast<pid_t>(notification.pid);
  const auto canonical = canonical_path(path.starts_with('/') ? "/" : link_target(of_process(process, "cwd")), path,
                                        call.number != SYS_bind, process);
  return canonical ? std::optional(Address{*canonical, true, false}) : std::nullopt;
}

}  // namespace ridgeline::worker
