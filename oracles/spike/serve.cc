// The child process: reads requests from standard input, runs them on one Machine, writes replies to standard output.
// Layout of both is documented in protocol.py. Every reply ends with a marker, so a cut one cannot pass for a result.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "machine.h"

namespace {

// Eight ASCII bytes as a little-endian word.
constexpr uint64_t word_of(const char (&text)[9]) {
  uint64_t word = 0;
  for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<uint8_t>(text[i]);
  return word;
}
constexpr uint64_t kRequest = word_of("SPKREQ01"), kReply = word_of("SPKREP01"), kDone = word_of("SPKDONE!");

bool read_exact(void* target, size_t bytes) { return std::fread(target, 1, bytes, stdin) == bytes; }

uint64_t read_word() {
  uint64_t word;
  if (!read_exact(&word, sizeof word)) throw std::runtime_error("request cut short");
  return word;
}

void read_into(std::vector<uint8_t>& target, size_t bytes, size_t capacity) {
  target.assign(capacity, 0);
  if (!read_exact(target.data(), bytes)) throw std::runtime_error("request cut short");
}

void write(const void* source, size_t bytes) {
  if (std::fwrite(source, 1, bytes, stdout) != bytes) throw std::runtime_error("cannot write the reply");
}

void write_word(uint64_t word) { write(&word, sizeof word); }

void serve(npu::Machine& machine) {
  npu::Memory& memory = machine.memory;
  const bool late = read_word(), traced = read_word();
  const uint64_t limit = read_word(), entry = read_word(), arguments = read_word(), return_address = read_word();
  const auto spad_fill = static_cast<uint8_t>(read_word());
  const uint64_t spad_wanted = read_word(), spad_given = read_word(), image_bytes = read_word(), windows = read_word();
  if (image_bytes > npu::kImageSpan || spad_given > memory.spad.bytes()) throw std::runtime_error("request too large for the address map");
  read_into(memory.image, image_bytes, (image_bytes + npu::kPage - 1) / npu::kPage * npu::kPage);
  memory.image_bytes = image_bytes;
  memory.spad.clear(spad_fill);
  for (unsigned lane = 0; spad_given && lane < machine.lanes(); ++lane)
    if (!read_exact(memory.spad.at(lane, npu::kSpadBase), spad_given)) throw std::runtime_error("request cut short");
  if (spad_given) memory.spad.touch(npu::kSpadBase, spad_given);
  memory.windows.assign(windows, {});
  for (npu::Window& window : memory.windows) {
    window.base = read_word();
    window.writable = read_word();
    const uint64_t bytes = read_word();
    read_into(window.bytes, bytes, bytes);
  }

  std::vector<npu::Trace> trace;
  const npu::Outcome outcome = machine.run(entry, arguments, return_address, late, limit, traced ? &trace : nullptr);
  const std::vector<uint64_t> registers = machine.registers();

  const uint64_t spad_bytes = std::min(memory.spad.used(), spad_wanted);
  uint64_t total =
      8 * sizeof(uint64_t) + outcome.trap.size() + 8 * registers.size() + sizeof(npu::Trace) * trace.size() + machine.lanes() * spad_bytes;
  for (const npu::Window& window : memory.windows) total += window.writable ? window.bytes.size() : 0;
  write_word(kReply);
  write_word(total);
  for (uint64_t word : {outcome.pc, outcome.tval, static_cast<uint64_t>(outcome.lane), outcome.instructions, spad_bytes,
                        outcome.trap.size(), registers.size(), trace.size()})
    write_word(word);
  write(outcome.trap.data(), outcome.trap.size());
  write(registers.data(), 8 * registers.size());
  write(trace.data(), sizeof(npu::Trace) * trace.size());
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) write(memory.spad.at(lane, npu::kSpadBase), spad_bytes);
  for (const npu::Window& window : memory.windows)
    if (window.writable) write(window.bytes.data(), window.bytes.size());
  write_word(kDone);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** values) try {
  if (count != 4) throw std::runtime_error("arguments: lanes, scratchpad bytes of a lane, rows of the array's queues");
  const auto number = [&](int i) { return std::strtoull(values[i], nullptr, 10); };
  cfg_t config;
  config.isa = "rv64gcv_zfh_zvfh_zvl256b";
  config.priv = "mu";
  npu::Machine machine(config, static_cast<unsigned>(number(1)), number(2), number(3));
  const auto instructions = npu::make_instructions();
  machine.register_extension(instructions.get());
  for (uint64_t magic; read_exact(&magic, sizeof magic); serve(machine))
    if (magic != kRequest) throw std::runtime_error("not a request");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "spike child: %s\n", error.what());
  return 1;
}
