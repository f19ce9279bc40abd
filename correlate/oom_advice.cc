#include "correlate/oom_advice.h"

#include <array>
#include <string_view>

#include "correlate/advice.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

struct Row {
  Shortage shortage;
  std::optional<Allocator> allocator;  // nullopt: any
  // With placeholders that OomFields fills; a row with one that has no value is left out.
  std::string_view text;
  std::array<std::string_view, 3> settings = {};
};

constexpr std::string_view kShrink =
    "smaller micro-batch or sequence, activation checkpointing, sharded optimiser state or parameters, or "
    "offload to the host. "
    "Leave 1-2 GiB of the device to NCCL and the math libraries.";

// Source: fixes F1, F2, F3 and F13 of the shared signature reference, section 17.
constexpr Row kRows[] = {
    {Shortage::kShort, Allocator::kTorch, "Cut what the device holds by more than <short_by>: <shrink>"},
    {Shortage::kShort, Allocator::kXla,
     "The program itself is too large for the pool (by <short_by>): a smaller batch per device, "
     "jax.checkpoint around the layers, "
     "donated input buffers, or more shards. XLA's memory report names the largest buffers."},
    {Shortage::kShort, Allocator::kVllm,
     "Lower max_model_len or max_num_seqs, use more tensor parallelism or a quantised KV cache, or raise "
     "gpu_memory_utilization "
     "where nobody else uses the device."},
    {Shortage::kFragmented,
     Allocator::kTorch,
     "Turn on expandable segments: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF is "
     "its newest name; "
     "releases before 2.1 have max_split_size_mb instead).",
     {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "PYTORCH_ALLOC_CONF=expandable_segments:True",
      "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"}},
    {Shortage::kFragmented, Allocator::kTorch,
     "Let shapes change less between steps (pad or bucket lengths): every new size cuts the pool into other "
     "pieces. A smaller "
     "micro-batch lowers the peak as well."},
    {Shortage::kFragmented, Allocator::kXla,
     "Let shapes change less (pad or bucket lengths), donate input buffers, and use fewer large temporary "
     "arrays: the pool has "
     "room, but no piece that is large enough."},
    {Shortage::kHeldByOther, Allocator::kVllm,
     "End what holds <held> of the device: an engine process (EngineCore) that the last run left over is the "
     "usual one. Where the "
     "device is shared on purpose, lower gpu_memory_utilization."},
    {Shortage::kHeldByOther, Allocator::kHost,
     "The killed process is not what filled the cgroup: <held> belong to its neighbours (data-loader "
     "workers, files in /dev/shm, "
     "other containers). Look at those first."},
    {Shortage::kHeldByOther, Allocator::kTorch,
     "Remove the process that holds it (<holder>; pids are the host's, not the container's): end leftovers "
     "of the last run, "
     "and give every rank a device of its own (torch.cuda.set_device, CUDA_VISIBLE_DEVICES)."},
    {Shortage::kPreallocation, Allocator::kXla,
     "Remove what holds at least <held> of the device: a process of the last run, or a second JAX process on "
     "the same GPU."},
    {Shortage::kPreallocation,
     Allocator::kXla,
     "Where the device is shared on purpose, set XLA_PYTHON_CLIENT_PREALLOCATE=false to stop the reservation "
     "of three quarters.",
     {"XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_CLIENT_PREALLOCATE=false"}},
    {Shortage::kPreallocation,
     Allocator::kXla,
     "Or give every process a fraction that fits with XLA_PYTHON_CLIENT_MEM_FRACTION (newer code also reads "
     "XLA_CLIENT_MEM_FRACTION).",
     {"XLA_PYTHON_CLIENT_MEM_FRACTION=", "XLA_CLIENT_MEM_FRACTION="}},
    {Shortage::kPreallocation, Allocator::kVllm,
     "Lower gpu_memory_utilization: the engine wants <short_by> more than even a free device has."},
    {Shortage::kPreallocation, Allocator::kSglang,
     "Raise --mem-fraction-static, lower --context-length, or spread the model with a larger --tp."},
    {Shortage::kBogusRequest, std::nullopt,
     "Print the shapes in the last frame of this rank's traceback: look for a negative dimension, a product "
     "that overflowed, or "
     "a length read from a damaged sample or an exchange that was aborted."},
    {Shortage::kBogusRequest, std::nullopt,
     "If the shape is meant, one tensor is larger than the device: split it (shorter sequence, attention and "
     "loss in chunks)."},
    {Shortage::kUnknown, Allocator::kTorch, "Cut what the device holds: <shrink>"},
    {Shortage::kUnknown, Allocator::kXla,
     "One huge buffer is an array that is not sharded or not rematerialised; many small ones are "
     "recompilations for changing shapes "
     "(jax.log_compiles). Shard, donate input buffers, or use a smaller batch per device."},
    {Shortage::kUnknown,
     Allocator::kXla,
     "JAX reserves three quarters of each GPU: where nobody else uses it, XLA_PYTHON_CLIENT_MEM_FRACTION=.90 "
     "gives the pool more.",
     {"XLA_PYTHON_CLIENT_MEM_FRACTION=", "XLA_CLIENT_MEM_FRACTION="}},
};

Fields OomFields(const OomAnswer& answer) {
  Fields out = {{"shrink", std::string(kShrink)}};
  if (answer.short_by) out.emplace_back("short_by", SizeText(*answer.short_by));
  if (answer.held_by_others) out.emplace_back("held", SizeText(*answer.held_by_others));
  std::string holder;
  for (const Holder& one : answer.numbers.holders) {
    holder += Cat(holder.empty() ? "" : ", ", "pid ", one.pid, " with ", SizeText(one.bytes));
  }
  if (holder.empty() && answer.held_by_others)
    holder = Cat(SizeText(*answer.held_by_others), " that this process does not account for");
  if (!holder.empty()) out.emplace_back("holder", holder);
  return out;
}

}  // namespace

std::vector<OomChange> ChangesFor(const OomAnswer& answer) {
  const Fields fields = OomFields(answer);
  std::vector<OomChange> out;
  for (const Row& row : kRows) {
    if (row.shortage != answer.shortage || (row.allocator && row.allocator != answer.allocator)) continue;
    OomChange change{FillPlaceholders(std::string(row.text), fields), {}};
    if (change.text.find('<') != std::string::npos) continue;
    for (std::string_view setting : row.settings) {
      if (!setting.empty()) change.settings.emplace_back(setting);
    }
    out.push_back(std::move(change));
  }
  if (answer.churn && !out.empty()) {
    out.push_back(
        {"Stop the shape churn: pad or bucket lengths to a few sizes, so that no new program is compiled at "
         "every step.",
         {}});
  }
  return out;
}

}  // namespace firstfault
