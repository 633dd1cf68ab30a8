#include "graph/watched_functions.h"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <mutex>

#include "graph/graph_nodes.h"

namespace sleuth {

using std::string;
using std::string_view;

namespace {

std::mutex mutex;
std::unordered_map<string, std::shared_ptr<WatchedFunction>> functions;
std::unordered_set<uint64_t> kernels;  // the probes that TensorFlow made kernels for: session and tensor
std::vector<string> devices;
string shared_folder;
uint64_t shared_session = 0;

std::shared_ptr<WatchedFunction> read_function(uint64_t session, string_view lines) {
  auto function = std::make_shared<WatchedFunction>();
  function->session = session;
  for (string_view line : split(lines, '\n')) {
    auto parts = split(line, '\t');
    if (parts.size() != 4) continue;
    WatchedNode& node = function->nodes[string(parts[0])];
    node.first = uint32_t(number_in(parts[1]));
    if (!parts[2].empty() && parts[2][0] == '@') {
      node.mark = int(number_in(parts[2].substr(1)));
      continue;
    }
    for (string_view output : split(parts[2], ',')) {
      auto pair = split(output, ':');
      node.outputs.push_back(
          pair.size() == 3 ? Output{int(number_in(pair[0])), int(number_in(pair[1])), uint32_t(number_in(pair[2]))}
                           : Output{0, -1, 0});
    }
    for (string_view input : split(parts[3], ','))
      if (!input.empty()) node.inputs.emplace_back(input);
  }
  return function;
}

// Another process of the run may have sent this function; it then left a file that describes it. Without the file the
// function is not watched.
std::shared_ptr<WatchedFunction> find_shared(string_view name) {
  if (shared_folder.empty() || name.find("__sleuth_") == string_view::npos || name.find('/') != string_view::npos)
    return nullptr;
  std::ifstream file(shared_folder + "/" + string(name));
  if (!file) return nullptr;
  string lines((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return read_function(shared_session, lines);
}

// Holding the lock during a fork keeps the child's copy consistent.
__attribute__((constructor)) void watch_forks() {
  pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

}  // namespace

std::vector<string_view> split(string_view text, char by) {
  std::vector<string_view> parts;
  for (size_t end; (end = text.find(by)) != string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

uint64_t number_in(string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::shared_ptr<WatchedFunction> find_function(string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = functions.find(string(name));
  if (found != functions.end()) return found->second;
  auto shared = find_shared(name);
  if (shared) functions[string(name)] = shared;
  return shared;
}

bool none_watched() {
  std::lock_guard<std::mutex> lock(mutex);
  return functions.empty() && shared_folder.empty();
}

std::vector<string> watched_names() {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<string> names;
  for (const auto& [name, function] : functions) names.push_back(name);
  return names;
}

void watch_function(const string& copy, uint64_t session, string_view lines, uint64_t run) {
  auto function = read_function(session, lines);
  function->run = run;
  std::lock_guard<std::mutex> lock(mutex);
  functions[copy] = function;
}

void share_functions(string_view folder, uint64_t session) {
  std::lock_guard<std::mutex> lock(mutex);
  shared_folder = folder;
  shared_session = session;
}

void name_devices(string_view lines) {
  std::lock_guard<std::mutex> lock(mutex);
  devices.clear();
  for (string_view line : split(lines, '\n')) devices.emplace_back(line);
}

int device_number(string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < devices.size(); ++i)
    if (ends_with(name, devices[i])) return int(i) + 1;
  return 0;
}

void forget_function(const string& copy) {
  std::lock_guard<std::mutex> lock(mutex);
  functions.erase(copy);
}

void note_witness(WatchedFunction* function, uint32_t tensor) {
  std::lock_guard<std::mutex> lock(mutex);
  function->witnesses.push_back(tensor);
}

void note_kernel(uint64_t session, uint32_t tensor) {
  std::lock_guard<std::mutex> lock(mutex);
  kernels.insert(session << 32 | tensor);
}

bool was_probed(const string& copy) {
  auto function = find_function(copy);
  if (!function || !function->probed) return false;
  std::lock_guard<std::mutex> lock(mutex);
  const auto& seen = function->witnesses;
  auto has_kernel = [&](uint32_t witness) { return kernels.count(function->session << 32 | witness) > 0; };
  return seen.empty() || std::any_of(seen.begin(), seen.end(), has_kernel);
}

bool has_probe(const string& copy, uint32_t tensor) {
  auto function = find_function(copy);
  return function && function->tensors.count(tensor);
}

}  // namespace sleuth
