#include "coordinator/compressed_stream.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "correlate/check.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kGzip = "\x1f\x8b\x08"sv;
// Enough to know a member by.
constexpr size_t kMagicBytes = 16;
constexpr char kZeros[4096] = {};

// zlib, liblzma and bzip2 share one shape of stream: pointers and sizes that the library moves on.
template <typename Stream, typename Step>
auto Run(Stream* stream, std::string_view* in, std::span<char> out, size_t* written, const Step& step) {
  stream->next_in = reinterpret_cast<decltype(stream->next_in)>(const_cast<char*>(in->data()));
  stream->avail_in = static_cast<decltype(stream->avail_in)>(in->size());
  stream->next_out = reinterpret_cast<decltype(stream->next_out)>(out.data());
  stream->avail_out = static_cast<decltype(stream->avail_out)>(out.size());
  const auto result = step(stream);
  in->remove_prefix(in->size() - stream->avail_in);
  *written = out.size() - stream->avail_out;
  return result;
}

class GzipCodec : public Codec {
 public:
  GzipCodec() { FF_CHECK(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK); }  // 16: with the header of gzip
  ~GzipCodec() override { inflateEnd(&stream_); }
  State Decode(std::string_view* in, std::span<char> out, size_t* written) override {
    const int result = Run(&stream_, in, out, written, [](z_stream* s) { return inflate(s, Z_NO_FLUSH); });
    if (result == Z_STREAM_END) return State::kMemberEnd;
    if (result == Z_OK || result == Z_BUF_ERROR) return State::kGoesOn;
    failure_.detail = stream_.msg != nullptr ? stream_.msg : zError(result);
    return State::kFailed;
  }

 private:
  z_stream stream_{};
};

class XzCodec : public Codec {
 public:
  XzCodec() { FF_CHECK(lzma_stream_decoder(&stream_, kUnpackMemoryMax, 0) == LZMA_OK); }
  ~XzCodec() override { lzma_end(&stream_); }
  State Decode(std::string_view* in, std::span<char> out, size_t* written) override {
    const lzma_ret result = Run(&stream_, in, out, written, [](lzma_stream* s) { return lzma_code(s, LZMA_RUN); });
    if (result == LZMA_STREAM_END) return State::kMemberEnd;
    if (result == LZMA_OK || result == LZMA_BUF_ERROR) return State::kGoesOn;
    failure_.detail = result == LZMA_DATA_ERROR ? "corrupt xz data" : Cat("liblzma error ", static_cast<int>(result));
    if (result == LZMA_MEMLIMIT_ERROR) failure_ = {Trouble::kTooMuchMemory, Cat(kUnpackMemoryMax, " bytes")};
    return State::kFailed;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Bzip2Codec : public Codec {
 public:
  Bzip2Codec() { FF_CHECK(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK); }
  ~Bzip2Codec() override { BZ2_bzDecompressEnd(&stream_); }
  State Decode(std::string_view* in, std::span<char> out, size_t* written) override {
    const int result = Run(&stream_, in, out, written, BZ2_bzDecompress);
    if (result == BZ_STREAM_END) return State::kMemberEnd;
    if (result == BZ_OK) return State::kGoesOn;
    failure_.detail = result == BZ_DATA_ERROR ? "a checksum of bzip2 is wrong" : Cat("bzip2 error ", result);
    return State::kFailed;
  }

 private:
  bz_stream stream_{};
};

class ZstdCodec : public Codec {
 public:
  ZstdCodec() : context_(ZSTD_createDCtx()) { FF_CHECK(context_ != nullptr); }
  ~ZstdCodec() override { ZSTD_freeDCtx(context_); }
  State Decode(std::string_view* in, std::span<char> out, size_t* written) override {
    ZSTD_inBuffer input{in->data(), in->size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(context_, &output, &input);
    in->remove_prefix(input.pos);
    *written = output.pos;
    if (result == 0) return State::kMemberEnd;
    if (!ZSTD_isError(result)) return State::kGoesOn;
    failure_.detail = ZSTD_getErrorName(result);
    // Its own limit, 128 MiB.
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) failure_.trouble = Trouble::kTooMuchMemory;
    return State::kFailed;
  }

 private:
  ZSTD_DCtx* context_;
};

class Lz4Codec : public Codec {
 public:
  Lz4Codec() { FF_CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))); }
  ~Lz4Codec() override { LZ4F_freeDecompressionContext(context_); }
  State Decode(std::string_view* in, std::span<char> out, size_t* written) override {
    size_t taken = in->size(), made = out.size();
    const size_t result = LZ4F_decompress(context_, out.data(), &made, in->data(), &taken, nullptr);
    if (LZ4F_isError(result)) {
      failure_.detail = LZ4F_getErrorName(result);
      return State::kFailed;
    }
    in->remove_prefix(taken);
    *written = made;
    return result == 0 ? State::kMemberEnd : State::kGoesOn;
  }

 private:
  LZ4F_dctx* context_ = nullptr;
};

template <typename T>
std::unique_ptr<Codec> New() {
  return std::make_unique<T>();
}

// "BZh", the block size, then the mark of a block or of the end.
bool IsBzip2(std::string_view head) {
  if (head.size() < 10 || !head.starts_with("BZh") || head[3] < '1' || head[3] > '9') return false;
  const std::string_view mark = head.substr(4, 6);
  return mark == "1AY&SY"sv || mark == "\x17\x72\x45\x38\x50\x90"sv;
}

// pzstd begins with a frame that only tells sizes.
bool IsZstd(std::string_view head) {
  const bool skippable = head.size() >= 4 && (head[0] & 0xF0) == 0x50 && head.substr(1).starts_with("\x2a\x4d\x18");
  return skippable || head.starts_with("\x28\xb5\x2f\xfd");
}

struct FormatRow {
  std::string_view name;
  bool (*begins)(std::string_view head);
  std::unique_ptr<Codec> (*make)();
};

constexpr FormatRow kFormats[] = {
    {"gzip", [](std::string_view head) { return head.starts_with(kGzip); }, New<GzipCodec>},
    {"zstd", IsZstd, New<ZstdCodec>},
    {"xz", [](std::string_view head) { return head.starts_with("\xfd\x37\x7a\x58\x5a\x00"sv); }, New<XzCodec>},
    {"bzip2", IsBzip2, New<Bzip2Codec>},
    {"lz4", [](std::string_view head) { return head.starts_with("\x04\x22\x4d\x18"); }, New<Lz4Codec>},
};

const FormatRow* FormatOf(std::string_view head) {
  const auto* row = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const FormatRow& r) { return r.begins(head); });
  return row == std::end(kFormats) ? nullptr : row;
}

// The header of gzip has the time as a little-endian number of seconds; zero where it was not known.
std::optional<int64_t> TimeInHeader(std::string_view head) {
  if (!head.starts_with(kGzip) || head.size() < 8) return std::nullopt;
  int64_t seconds = 0;
  for (size_t i = 8; i-- > 4;) seconds = seconds << 8 | static_cast<unsigned char>(head[i]);
  if (seconds == 0) return std::nullopt;
  return seconds * 1'000'000'000;
}

}  // namespace

bool IsCompressed(std::string_view head) { return FormatOf(head) != nullptr; }

CompressedStream::CompressedStream(ByteStream* packed, std::string* buffer) : packed_(packed), buffer_(buffer) {
  buffer_->resize(kReadChunkBytes);
  LookAhead(kMagicBytes);
  modified_ns_ = TimeInHeader(in_);
}

// The next packed bytes, where all before were taken.
bool CompressedStream::Refill() {
  while (pending_.hole == 0 && pending_.bytes.empty()) {
    if (!packed_->Next(&pending_)) return false;
  }
  if (pending_.hole > 0) {
    in_ = std::string_view(kZeros, std::min<uint64_t>(pending_.hole, sizeof(kZeros)));
    pending_.hole -= in_.size();
  } else {
    in_ = std::exchange(pending_.bytes, {});
  }
  taken_ += in_.size();
  return true;
}

// Makes `in_` that long, unless the packed bytes end before.
void CompressedStream::LookAhead(size_t bytes) {
  if (in_.size() >= bytes) return;
  std::string joined(in_);
  while (joined.size() < bytes && Refill()) joined += in_;
  joined_ = std::move(joined);
  in_ = joined_;
}

void CompressedStream::Fail(ReadFailure failure) {
  failure_ = packed_->failure() ? packed_->failure() : std::move(failure);
  ended_ = true;
}

// False: there is none.
bool CompressedStream::BeginMember() {
  if (!std::exchange(first_, false)) {
    do {
      in_.remove_prefix(std::min(in_.find_first_not_of('\0'), in_.size()));
    } while (in_.empty() && Refill());
  }
  LookAhead(kMagicBytes);
  const FormatRow* format = FormatOf(in_);
  if (format != nullptr && (format_.empty() || format->name == format_)) {
    format_ = format->name;
    codec_ = format->make();
    return true;
  }
  ended_ = true;
  if (packed_->failure() || !in_.empty()) Fail({Trouble::kMoreBehind, Cat("from byte ", taken_ - in_.size())});
  return false;
}

bool CompressedStream::Next(Block* block) {
  size_t filled = 0;
  while (!ended_ && filled < buffer_->size() && (codec_ || BeginMember())) {
    const size_t had = in_.size();
    size_t written = 0;
    const Codec::State state = codec_->Decode(&in_, std::span(*buffer_).subspan(filled), &written);
    filled += written;
    const bool stuck = written == 0 && in_.size() == had;
    if (state == Codec::State::kMemberEnd) {
      codec_.reset();
    } else if (state == Codec::State::kFailed) {
      Fail(codec_->failure());
    } else if (stuck && (!in_.empty() || !Refill())) {
      Fail({Trouble::kDamaged, Cat("the end of its ", format_, " data is missing")});
    }
  }
  if (filled == 0) return false;
  *block = Block{0, std::string_view(*buffer_).substr(0, filled)};
  return true;
}

}  // namespace firstfault
