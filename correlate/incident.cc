#include "correlate/incident.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "correlate/correlate.h"
#include "correlate/parse/stamp.h"
#include "correlate/text.h"
#include "correlate/time_window.h"

namespace firstfault {
namespace {

constexpr int32_t kRankMax = 10'000'000;  // a larger number is no rank
constexpr size_t kRankListMax = 100'000;

std::optional<int32_t> NumberField(const Fields& fields, std::string_view name) {
  const auto value = ParseNumber<int32_t>(FieldOf(fields, name));
  return value && *value >= 0 && *value <= kRankMax ? value : std::nullopt;
}

// "n01<40112>", "[n01]:29500", "10.0.0.7:4711" -> the host or address in it.
std::string HostInAddress(std::string_view text) {
  text = text.substr(0, text.find('<'));
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    text = text.substr(0, text.find(']'));
  }
  if (std::count(text.begin(), text.end(), ':') == 1) text = text.substr(0, text.find(':'));
  if (text.starts_with("::ffff:")) text.remove_prefix(7);  // IPv4 in IPv6 form
  return ShortHost(text);
}

// "0000:41:00.0" and "41:00" name the same device; NCCL prints 41000.
std::string NormalBus(std::string_view text) {
  std::string bus(text);
  std::transform(bus.begin(), bus.end(), bus.begin(), [](unsigned char c) { return std::tolower(c); });
  if (bus.find(':') == std::string::npos && bus.size() >= 4 && bus.size() <= 9) {
    // NCCL: domain, bus, device and function as one hexadecimal number: bus 41, device 00, function 0.
    while (bus.size() < 5) bus.insert(bus.begin(), '0');
    const std::string tail = bus.substr(bus.size() - 5);
    return Cat("0000:", tail.substr(0, 2), ":", tail.substr(2, 2));
  }
  const size_t dot = bus.find('.');
  if (dot != std::string::npos) bus.resize(dot);
  if (std::count(bus.begin(), bus.end(), ':') == 1) bus.insert(0, "0000:");
  if (bus.size() > 12) bus.erase(0, bus.size() - 10);  // 00000000:41:00
  return bus;
}

using HostNumber = std::pair<std::string, int32_t>;

// The maps that join names of one thing. First writer wins: sources are sorted, facts are in file order.
struct Maps {
  std::map<HostNumber, int32_t> rank_of_pid, rank_of_local, rank_of_device, local_of_pid;
  std::map<std::tuple<std::string, int32_t, int32_t>, int32_t> rank_of_pid_device;
  std::map<std::pair<std::string, std::string>, int32_t> rank_of_bus;
  std::map<const SourceDigest*, std::string> host_of_source;
  std::map<const SourceDigest*, std::set<int32_t>> ranks_of_source;
  // Of lines that carry both a launcher's tag and a rank. nullopt: several ranks write under one tag (two hosts in
  // one file).
  std::map<std::pair<const SourceDigest*, int32_t>, std::optional<int32_t>> rank_of_writer;
};

class Builder {
 public:
  Builder(const Catalogue& catalogue, const std::vector<SourceDigest>& sources, const CorrelateOptions& options)
      : options_(options) {
    incident_.catalogue = &catalogue;
    for (const SourceDigest& source : sources) incident_.sources.push_back(&source);
    std::sort(incident_.sources.begin(), incident_.sources.end(),
              [](const SourceDigest* a, const SourceDigest* b) { return a->info.path < b->info.path; });
  }

  Incident Build() {
    SelectAttempt();
    for (const SourceDigest* source : incident_.sources) CollectHost(*source);
    CollectWriters();
    for (const SourceDigest* source : incident_.sources) CollectFacts(*source);
    size_t events = 0;
    for (const SourceDigest* source : incident_.sources) events += source->events.size();
    incident_.events.reserve(events);
    TimeWindow window(options_.since_ns, options_.until_ns, incident_.sources);
    for (const SourceDigest* source : incident_.sources) PlaceEvents(*source, &window);
    incident_.window_doubts = window.Sentences();
    for (const SourceDigest* source : incident_.sources) CollectRanks(*source);
    KeepOwnRemarks();
    HostsByBlock();
    PlaceRelayed();
    CollectEnds();
    RankFromEnds();
    OnlyHost();
    CollectSuccess();
    return std::move(incident_);
  }

 private:
  const Signature& SignatureOf(const Event& event) const {
    return incident_.catalogue->signatures()[event.signature];
  }

  static std::optional<int32_t> AttemptOf(const SourceInfo& info) {
    return info.attempt ? ParseNumber<int32_t>(info.attempt->value) : std::nullopt;
  }

  // The folder of one torchrun agent. Each agent counts its own restarts: a host that only joins the next round
  // starts it under its old number.
  static std::string_view AgentFolder(const SourceInfo& info) {
    const size_t at = std::string_view(info.path).find("/attempt_");
    return at == std::string_view::npos ? std::string_view() : std::string_view(info.path).substr(0, at);
  }

  // Elastic restarts and requeues: the last attempt, unless one is asked for.
  void SelectAttempt() {
    std::map<std::string_view, int32_t> last;
    for (const SourceDigest* source : incident_.sources) {
      const auto attempt = AttemptOf(source->info);
      if (!attempt) continue;
      int32_t& of_agent = last.try_emplace(AgentFolder(source->info), *attempt).first->second;
      of_agent = std::max(of_agent, *attempt);
      if (source->info.host) {
        int32_t& of_host = restarts_[ShortHost(source->info.host->value)];
        of_host = std::max(of_host, *attempt);
      }
      incident_.attempt = std::max(incident_.attempt.value_or(0), *attempt);
    }
    if (options_.attempt) incident_.attempt = options_.attempt;
    std::erase_if(incident_.sources, [&](const SourceDigest* source) {
      const auto attempt = AttemptOf(source->info);
      const bool other_attempt = attempt && *attempt != options_.attempt.value_or(last[AgentFolder(source->info)]);
      const bool other_job = options_.job && source->info.job && source->info.job->value != *options_.job;
      if (other_attempt || other_job) incident_.left_out += static_cast<int64_t>(source->events.size());
      return other_attempt || other_job;
    });
    if (options_.job) {
      incident_.job = *options_.job;
      return;
    }
    for (const SourceDigest* source : incident_.sources) {
      if (source->info.job && incident_.job.empty()) incident_.job = source->info.job->value;
    }
  }

  void CollectHost(const SourceDigest& source) {
    std::string host = source.info.host ? ShortHost(source.info.host->value) : "";
    // What a file is called, and which host's agent read it, tells less than its lines: many hosts' ranks write
    // to a shared file system.
    const bool by_name = source.info.host && (source.info.host->by == "file name" || source.info.host->by == "agent");
    if (host.empty() || by_name) {
      // A log in which all self-naming lines name one host is that host's log.
      std::set<std::string> named;
      for (const auto* list : {&source.facts, &source.events}) {
        for (const Event& event : *list) {
          if (!event.prefix.host.empty()) named.insert(ShortHost(event.prefix.host));
          for (const ElasticReport& report : event.reports) {
            if (!report.host.empty()) named.insert(ShortHost(report.host));
          }
          if (!SignatureOf(event).row.accuses_peer() && SignatureOf(event).role == Role::kContext) {
            const std::string_view own = FieldOf(event.fields, "host");
            if (!own.empty()) named.insert(ShortHost(own));
          }
        }
      }
      if (!named.empty() && !named.contains(host)) host = named.size() == 1 ? *named.begin() : "";
    }
    if (!host.empty()) {
      maps_.host_of_source[&source] = host;
      incident_.hosts.insert(host);
    }
  }

  // "Warning  Evicted  pod/bert-worker-1  The node was low ..." -> bert-worker-1
  static std::string_view PodIn(std::string_view text) {
    constexpr std::string_view kMark = "pod/";
    const size_t at = text.find(kMark);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + kMark.size());
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.");
    return text.substr(0, end);
  }

  // The pod that a line of kubectl's output is about. What kubectl describes of several pods stands in one file: the
  // nearest name above.
  std::string_view PodOf(const SourceDigest& source, const Event& event) const {
    if (const std::string_view told = FieldOf(event.fields, "peer_host"); !told.empty()) return told;
    if (const std::string_view told = PodIn(event.text); !told.empty()) return told;
    const Event* above = nullptr;
    for (const Event& fact : source.facts) {
      const bool names = SignatureOf(fact).row.id() == "identity.kubectl_describe" && fact.at.byte_offset < event.at.byte_offset;
      if (names && (above == nullptr || fact.at.byte_offset > above->at.byte_offset)) above = &fact;
    }
    return above == nullptr ? std::string_view() : FieldOf(above->fields, "host");
  }

  std::string HostOf(const SourceDigest& source, const Event& event, std::string* by) const {
    if (!event.prefix.host.empty()) {
      *by = "line prefix";
      return ShortHost(event.prefix.host);
    }
    const v1::Signature& row = SignatureOf(event).row;
    // Kubernetes names the pod that an event is about; other rows capture the host that they speak of.
    const std::string_view told = row.producer() == "kubernetes" ? PodOf(source, event) : FieldOf(event.fields, "host");
    if (!told.empty() && !row.accuses_peer()) {
      *by = "message";
      return ShortHost(told.substr(told.rfind('/') == std::string_view::npos ? 0 : told.rfind('/') + 1));
    }
    const auto it = maps_.host_of_source.find(&source);
    if (it == maps_.host_of_source.end()) return "";
    *by = source.info.host && ShortHost(source.info.host->value) == it->second ? source.info.host->by : "other lines of the file";
    return it->second;
  }

  void SeeRank(int32_t rank, const std::string& host) {
    RankFacts& facts = incident_.ranks[rank];
    if (facts.host.empty()) facts.host = host;
  }

  void SeeWorld(std::optional<int32_t> size) {
    if (size && *size > 0 && *size <= kRankMax && (!incident_.world_size || *size > *incident_.world_size)) incident_.world_size = size;
  }

  // Lines that name their rank tell that of lines without: those under the same tag of the file, and those of
  // the other files in a rank's own folder.
  void CollectWriters() {
    std::map<std::string_view, std::set<int32_t>> ranks_of_folder;
    const auto folder_of = [](const SourceDigest& source) {
      const std::string_view path = source.info.path;
      return path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/'));
    };
    for (const SourceDigest* source : incident_.sources) {
      for (const Writer& writer : source->writers) {
        if (!writer.rank) continue;
        if (source->info.local_rank) ranks_of_folder[folder_of(*source)].insert(*writer.rank);
        if (!writer.local_rank) continue;
        const auto [it, fresh] = maps_.rank_of_writer.try_emplace({source, *writer.local_rank}, writer.rank);
        if (it->second != writer.rank) it->second.reset();
      }
    }
    for (const auto& [key, rank] : maps_.rank_of_writer) {
      if (rank) SeeLocalRank(*key.first, *rank, key.second);
    }
    for (const SourceDigest* source : incident_.sources) {
      const auto ranks = ranks_of_folder.find(folder_of(*source));
      if (!source->info.local_rank || ranks == ranks_of_folder.end() || ranks->second.size() != 1) continue;
      const int32_t rank = *ranks->second.begin();
      maps_.ranks_of_source[source].insert(rank);
      if (const auto local = ParseNumber<int32_t>(source->info.local_rank->value)) SeeLocalRank(*source, rank, *local);
    }
  }

  void SeeLocalRank(const SourceDigest& source, int32_t rank, int32_t local) {
    const auto known = maps_.host_of_source.find(&source);
    const std::string host = known == maps_.host_of_source.end() ? "" : known->second;
    SeeRank(rank, host);
    RankFacts& facts = incident_.ranks[rank];
    if (!facts.local_rank) facts.local_rank = local;
    if (!host.empty()) maps_.rank_of_local.try_emplace({host, local}, rank);
  }

  void CollectFacts(const SourceDigest& source) {
    std::string by;
    for (const Event& fact : source.facts) {
      std::string host = HostOf(source, fact, &by);
      const auto rank = NumberField(fact.fields, "rank");
      const auto local = NumberField(fact.fields, "local_rank");
      auto pid = NumberField(fact.fields, "pid");
      if (!pid) pid = fact.prefix.pid;
      const auto device = NumberField(fact.fields, "device");
      const std::string_view bus = FieldOf(fact.fields, "bus");
      SeeWorld(NumberField(fact.fields, "world_size"));
      const auto nodes = NumberField(fact.fields, "nodes"), per_node = NumberField(fact.fields, "per_node");
      if (nodes && per_node && int64_t{*nodes} * *per_node <= kRankMax) SeeWorld(*nodes * *per_node);
      if (!rank && local && pid) maps_.local_of_pid.try_emplace({host, *pid}, *local);
      if (rank) {
        SeeRank(*rank, host);
        // A launcher names ranks of its host; the file need not be theirs.
        if (SignatureOf(fact).row.producer() != "torchrun") maps_.ranks_of_source[&source].insert(*rank);
        if (pid) {
          maps_.rank_of_pid.try_emplace({host, *pid}, *rank);
          if (device) maps_.rank_of_pid_device.try_emplace({host, *pid, *device}, *rank);
        }
        if (local) maps_.rank_of_local.try_emplace({host, *local}, *rank);
        if (device) maps_.rank_of_device.try_emplace({host, *device}, *rank);
        if (!bus.empty()) maps_.rank_of_bus.try_emplace({host, NormalBus(bus)}, *rank);
        RankFacts& facts = incident_.ranks[*rank];
        if (!facts.local_rank) facts.local_rank = local;
        if (!facts.device) facts.device = device;
        if (!facts.pid) facts.pid = pid;
        if (facts.bus.empty() && !bus.empty()) facts.bus = NormalBus(bus);
      }
      if (!host.empty()) incident_.hosts.insert(host);
      const std::string_view address = FieldOf(fact.fields, "addr");
      if (!address.empty() && !host.empty()) incident_.host_of_address.try_emplace(HostInAddress(address), host);
    }
    for (const Event& event : source.events) {
      CollectEndReport(event);
      for (const ElasticReport& report : event.reports) CollectReport(source, report);
      SeeWorld(NumberField(event.fields, "world_size"));
      SeeWorld(event.prefix.world_size);
    }
    if (source.info.rank) {
      if (const auto rank = ParseNumber<int32_t>(source.info.rank->value)) {
        maps_.ranks_of_source[&source].insert(*rank);
        const auto host = maps_.host_of_source.find(&source);
        SeeRank(*rank, host == maps_.host_of_source.end() ? "" : host->second);
      }
    }
  }

  // A launcher that reports an end numbers and places the processes itself: nobody knows better.
  void CollectEndReport(const Event& event) {
    const v1::Signature& row = SignatureOf(event).row;
    agents_below_ |= row.producer() == "torchrun" || row.producer() == "elastic";
    if (!IsEndReport(row.id())) return;
    std::vector<std::string> hosts = ExpandHostList(FieldOf(event.fields, "peer_hosts"));
    if (const std::string_view host = FieldOf(event.fields, "peer_host"); !host.empty()) hosts.push_back(HostInAddress(host));
    for (std::string& host : hosts) host = ShortHost(host);
    std::erase(hosts, "");
    incident_.hosts.insert(hosts.begin(), hosts.end());
    const auto rank = NumberField(event.fields, "peer_rank"), pid = NumberField(event.fields, "peer_pid");
    if (!rank || hosts.size() != 1) return;
    incident_.ranks[*rank].host = hosts[0];
    if (pid) maps_.rank_of_pid[{hosts[0], *pid}] = *rank;
  }

  void CollectReport(const SourceDigest& source, const ElasticReport& report) {
    const auto known = maps_.host_of_source.find(&source);
    const std::string host = !report.host.empty() ? ShortHost(report.host)
                             : known == maps_.host_of_source.end() ? "" : known->second;
    if (!report.rank) return;
    SeeRank(*report.rank, host);
    RankFacts& facts = incident_.ranks[*report.rank];
    if (!facts.local_rank) facts.local_rank = report.local_rank;
    if (!facts.pid) facts.pid = report.pid;
    if (!facts.exit_code) facts.exit_code = report.exit_code;
    if (!host.empty()) incident_.hosts.insert(host);
    // The report may stand in a log whose own host is not known.
    for (const std::string& name : {host, known == maps_.host_of_source.end() ? std::string() : known->second}) {
      if (report.pid) maps_.rank_of_pid.try_emplace({name, *report.pid}, *report.rank);
      if (report.local_rank) maps_.rank_of_local.try_emplace({name, *report.local_rank}, *report.rank);
    }
  }

  // Where the last attempt begins in a file that holds several: behind a line that says so, or, in a launcher's
  // log without such lines, behind as many failures as its host's log folders show restarts.
  uint64_t LastAttemptBegin(const SourceDigest& source) const {
    constexpr std::string_view kMarks[] = {"elastic.restart", "elastic.membership"};
    if (options_.attempt) return 0;
    const auto host = maps_.host_of_source.find(&source);
    const auto restarts = host == maps_.host_of_source.end() ? restarts_.end() : restarts_.find(host->second);
    int32_t failures = restarts == restarts_.end() ? 0 : restarts->second;
    uint64_t begin = 0;
    for (const Event& event : source.events) {
      const std::string& id = SignatureOf(event).row.id();
      const bool mark = std::find(std::begin(kMarks), std::end(kMarks), id) != std::end(kMarks);
      const bool failure = failures > 0 && id.starts_with("elastic.failed");
      failures -= failure;
      if (mark || failure) begin = event.at.byte_offset + 1;
    }
    return begin;
  }

  void PlaceEvents(const SourceDigest& source, TimeWindow* window) {
    const uint64_t attempt_begin = LastAttemptBegin(source);
    for (const Event& event : source.events) {
      if (event.at.byte_offset < attempt_begin || !window->Holds(event, source.info)) {
        ++incident_.left_out;
        continue;
      }
      PlacedEvent placed;
      placed.event = &event;
      placed.signature = &SignatureOf(event);
      placed.source = &source;
      Place(&placed);
      Accuse(&placed);
      PlaceEnd(&placed);
      if (placed.place.rank) SeeRank(*placed.place.rank, placed.place.host);
      if (!placed.place.host.empty()) incident_.hosts.insert(placed.place.host);
      incident_.events.push_back(std::move(placed));
    }
  }

  static bool SpokenByLauncher(const PlacedEvent& placed) {
    const std::string& producer = placed.signature->row.producer();
    return placed.event->prefix.launcher || producer == "elastic" || producer == "torchrun" ||
           producer == "slurm" || producer == "kubernetes";
  }

  void Place(PlacedEvent* placed) {
    const Event& event = *placed->event;
    const SourceDigest& source = *placed->source;
    const Prefix& prefix = event.prefix;
    Location& place = placed->place;
    std::string by;
    // What another rank raised happened on that rank's host, not on the one that tells of it.
    if (!event.relayed) place.host = HostOf(source, event, &by);
    if (!place.host.empty()) place.known_by.push_back(Cat("host: ", by));
    place.pid = NumberField(event.fields, "pid");
    if (!place.pid && !prefix.kernel) place.pid = prefix.pid;
    place.local_rank = NumberField(event.fields, "local_rank");
    if (!place.local_rank) place.local_rank = prefix.local_rank;
    place.device = NumberField(event.fields, "device");
    if (!place.device) place.device = prefix.device;
    place.bus = FieldOf(event.fields, "bus").empty() ? "" : NormalBus(FieldOf(event.fields, "bus"));
    place.uuid = std::string(FieldOf(event.fields, "uuid"));
    place.process = std::string(FieldOf(event.fields, "process"));

    const bool kernel = prefix.kernel || source.info.kind == SourceInfo::Kind::kKernelLog;
    if (!place.local_rank && place.pid) {
      // The launcher's own log may not know its host's name.
      for (const std::string& host : {place.host, std::string()}) {
        const auto it = maps_.local_of_pid.find({host, *place.pid});
        if (it != maps_.local_of_pid.end() && !place.local_rank) place.local_rank = it->second;
      }
    }
    const auto lookup = [](const auto& map, const auto& key) -> std::optional<int32_t> {
      const auto it = map.find(key);
      return it == map.end() ? std::nullopt : std::optional<int32_t>(it->second);
    };
    // In the order of trust; the first that answers decides.
    const std::pair<const char*, std::function<std::optional<int32_t>()>> ways[] = {
        {"line prefix", [&] { return prefix.rank; }},
        {"message", [&] { return kernel ? std::nullopt : NumberField(event.fields, "rank"); }},
        {"pid and device map",
         [&]() -> std::optional<int32_t> {
           if (!place.pid || !place.device) return std::nullopt;
           return lookup(maps_.rank_of_pid_device, std::make_tuple(place.host, *place.pid, *place.device));
         }},
        {"pid map",
         [&]() -> std::optional<int32_t> {
           return place.pid && !place.device ? lookup(maps_.rank_of_pid, HostNumber(place.host, *place.pid))
                                             : std::nullopt;
         }},
        {"other lines under its tag",
         [&]() -> std::optional<int32_t> {
           if (!prefix.local_rank) return std::nullopt;
           const auto it = maps_.rank_of_writer.find({&source, *prefix.local_rank});
           return it == maps_.rank_of_writer.end() ? std::nullopt : it->second;
         }},
        {"local rank and host",
         [&]() -> std::optional<int32_t> {
           return place.local_rank ? lookup(maps_.rank_of_local, HostNumber(place.host, *place.local_rank))
                                   : std::nullopt;
         }},
        {"file name",
         [&]() -> std::optional<int32_t> {
           if (kernel || SpokenByLauncher(*placed) || !source.info.rank) return std::nullopt;
           return ParseNumber<int32_t>(source.info.rank->value);
         }},
        {"PCI address map",
         [&] { return place.bus.empty() ? std::nullopt : lookup(maps_.rank_of_bus, std::make_pair(place.host, place.bus)); }},
        {"NCCL device and host",
         [&]() -> std::optional<int32_t> {
           return place.device && !kernel ? lookup(maps_.rank_of_device, HostNumber(place.host, *place.device))
                                          : std::nullopt;
         }},
        {"launcher task",
         [&] { return prefix.local_rank || SpokenByLauncher(*placed) ? std::nullopt : prefix.task; }},
        {"the only rank of the file",
         [&]() -> std::optional<int32_t> {
           const auto it = maps_.ranks_of_source.find(&source);
           if (kernel || SpokenByLauncher(*placed) || it == maps_.ranks_of_source.end() || it->second.size() != 1) {
             return std::nullopt;
           }
           return *it->second.begin();
         }},
        {"rank in its process group",
         [&] { return prefix.group_rank ? prefix.group_rank : NumberField(event.fields, "group_rank"); }},
        {"local rank on the only host",
         [&]() -> std::optional<int32_t> {
           return incident_.hosts.size() <= 1 ? place.local_rank : std::nullopt;
         }},
    };
    for (const auto& [name, way] : ways) {
      const std::optional<int32_t> rank = way();
      if (!rank || *rank < 0 || *rank > kRankMax) continue;
      place.rank = rank;
      place.known_by.push_back(Cat("rank: ", name));
      break;
    }
    if (place.rank) {
      const auto facts = incident_.ranks.find(*place.rank);
      if (facts != incident_.ranks.end()) {
        if (place.host.empty()) place.host = facts->second.host;
        if (!place.local_rank) place.local_rank = facts->second.local_rank;
        if (!place.device) place.device = facts->second.device;
        if (!place.pid) place.pid = facts->second.pid;
        if (place.bus.empty()) place.bus = facts->second.bus;
      }
    }
  }

  // The line of a launcher about the end of one process happened at that process.
  void PlaceEnd(PlacedEvent* placed) const {
    if (!IsEndReport(placed->id()) || placed->accused_hosts.size() != 1) return;
    placed->place = Location{};
    placed->place.host = placed->accused_hosts[0];
    placed->place.pid = NumberField(placed->event->fields, "peer_pid");
    placed->place.known_by.push_back("host: the launcher's report");
    if (placed->accused_ranks.size() != 1) return;
    placed->place.rank = placed->accused_ranks[0];
    placed->place.known_by.push_back("rank: the launcher's report");
  }

  void Accuse(PlacedEvent* placed) const {
    placed->accuses = placed->signature->row.accuses_peer();
    for (uint32_t other : placed->event->also) {
      placed->accuses |= incident_.catalogue->signatures()[other].row.accuses_peer();
    }
    const Fields& fields = placed->event->fields;
    std::vector<int32_t>& ranks = placed->accused_ranks;
    for (const char* name : {"peer_rank", "peer_task"}) {
      if (const auto rank = NumberField(fields, name)) ranks.push_back(*rank);
    }
    for (int32_t rank : ParseRankList(FieldOf(fields, "peer_ranks"))) ranks.push_back(rank);
    const std::string_view tasks = FieldOf(fields, "peer_tasks");
    for (std::string_view task : Split(tasks, ',')) {
      const size_t at = task.rfind("task:");
      if (at == std::string_view::npos) continue;
      if (const auto rank = ParseNumber<int32_t>(Trim(task.substr(at + 5)))) ranks.push_back(*rank);
    }
    // Slurm's task ids are ranks (SLURM_PROCID) only where no launcher below starts several ranks a task.
    if (tasks.find("task:") == std::string_view::npos && maps_.rank_of_local.empty() && !agents_below_) {
      for (int32_t rank : ParseRankList(tasks)) ranks.push_back(rank);
    }
    for (std::string& host : ExpandHostList(FieldOf(fields, "peer_hosts"))) placed->accused_hosts.push_back(ShortHost(host));
    for (const char* name : {"peer_host", "peer_addr"}) {
      const std::string_view text = FieldOf(fields, name);
      if (text.empty()) continue;
      std::string host = HostInAddress(text);
      const auto known = incident_.host_of_address.find(host);
      if (known != incident_.host_of_address.end()) host = known->second;
      if (!host.empty()) placed->accused_hosts.push_back(std::move(host));
    }
    const bool of_a_pod = placed->accuses && placed->signature->row.producer() == "kubernetes" && placed->accused_hosts.empty();
    if (const std::string_view pod = of_a_pod ? PodOf(*placed->source, *placed->event) : std::string_view(); !pod.empty()) {
      placed->accused_hosts.emplace_back(pod);
    }
  }

  // The rank of a line that is no event, by what its prefix says and by the maps.
  std::optional<int32_t> RankOfLine(const SourceDigest& source, std::optional<int32_t> rank, std::optional<int32_t> local) const {
    if (!rank && OneRank(source)) rank = OnlyRank(source);
    if (!rank && local) {
      const auto it = maps_.rank_of_writer.find({&source, *local});
      if (it != maps_.rank_of_writer.end()) rank = it->second;
    }
    const auto host = maps_.host_of_source.find(&source);
    if (!rank && local && host != maps_.host_of_source.end()) {
      const auto it = maps_.rank_of_local.find({host->second, *local});
      if (it != maps_.rank_of_local.end()) rank = it->second;
    }
    return rank && *rank >= 0 && *rank <= kRankMax ? rank : std::nullopt;
  }

  bool OneRank(const SourceDigest& source) const {
    const auto own = maps_.ranks_of_source.find(&source);
    return source.info.rank.has_value() || (own != maps_.ranks_of_source.end() && own->second.size() == 1);
  }
  std::optional<int32_t> OnlyRank(const SourceDigest& source) const {
    const auto own = maps_.ranks_of_source.find(&source);
    return own == maps_.ranks_of_source.end() ? std::nullopt : std::optional(*own->second.begin());
  }

  void CollectRanks(const SourceDigest& source) {
    const auto host = maps_.host_of_source.find(&source);
    for (const Writer& writer : source.writers) {
      const auto rank = RankOfLine(source, writer.rank, writer.local_rank);
      if (!rank) continue;
      SeeRank(*rank, host == maps_.host_of_source.end() ? "" : host->second);
      RankFacts& facts = incident_.ranks[*rank];
      if (facts.last_words == nullptr || OneRank(source)) {
        facts.last_words = &writer;
        facts.last_words_source = &source;
      }
    }
    uint64_t first_step = UINT64_MAX;
    for (const Progress& progress : source.progress) {
      if (progress.bar) continue;
      first_step = std::min(first_step, progress.at.byte_offset);
      const auto known = incident_.ranks.find(RankOfLine(source, progress.rank, std::nullopt).value_or(-1));
      if (known != incident_.ranks.end()) known->second.steps = true;
    }
    for (const Remark& remark : source.remarks) {
      if (remark.at.byte_offset < first_step) continue;
      const auto known = incident_.ranks.find(RankOfLine(source, remark.rank, remark.local_rank).value_or(-1));
      if (known != incident_.ranks.end()) known->second.remarks.push_back({&source, &remark});
    }
  }

  // What several ranks remark alike tells nothing of one.
  void KeepOwnRemarks() {
    std::map<std::string_view, std::set<int32_t>> ranks_of_shape;
    for (const auto& [rank, facts] : incident_.ranks) {
      for (const PlacedRemark& placed : facts.remarks) ranks_of_shape[placed.remark->shape].insert(rank);
    }
    for (auto& [rank, facts] : incident_.ranks) {
      std::erase_if(facts.remarks, [&](const PlacedRemark& placed) { return ranks_of_shape[placed.remark->shape].size() > 1; });
    }
  }

  // How a process ended, as launchers word it: a code, a signal's number, or its name (strsignal(3); Slurm adds
  // its own word for a task that the kernel killed at the memory limit).
  static std::optional<int32_t> EndCode(const Fields& fields) {
    constexpr std::pair<std::string_view, int32_t> kStatus[] = {
        {"Out Of Memory", -9},       {"Killed", -9},           {"Terminated", -15},     {"Aborted", -6},
        {"Segmentation fault", -11}, {"Bus error", -7},        {"Illegal instruction", -4},
        {"Floating point exception", -8}, {"Trace/breakpoint trap", -5}, {"Hangup", -1}, {"Interrupt", -2},
    };
    if (const auto code = ParseNumber<int32_t>(FieldOf(fields, "exit_code"))) return code;
    if (const auto signal = NumberField(fields, "signal_number")) return -*signal;
    for (const auto& [status, code] : kStatus) {
      if (FieldOf(fields, "status") == status) return code;
    }
    return std::nullopt;
  }

  // The order to stop a Slurm step, by whomever, is followed by the ends of its tasks. A task that ran out of
  // memory did not do so by order.
  bool AfterOrder(const PlacedEvent& end) const {
    if (end.signature->row.producer() != "slurm" || end.signature->role == Role::kInitiating) return false;
    return std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& order) {
      const bool stops = order.id().starts_with("slurm.cancel.") || order.id() == "slurm.srun.aborted" || order.id() == "slurm.srun.terminating";
      return stops && order.source == end.source && order.event->at.byte_offset < end.event->at.byte_offset;
    });
  }

  bool EndedByOrder(const ElasticReport& report) const {
    const v1::ExitMeaning* meaning = report.exit_code ? incident_.catalogue->Exit(*report.exit_code) : nullptr;
    return meaning != nullptr && meaning->role() == "teardown";
  }

  // The launcher's "first" is the first only where the report's times, whole seconds, say so: of several that
  // left by themselves in one second, or were killed in one, it is the one that was looked at first.
  bool IsFirst(const ElasticReport& root, const std::vector<ElasticReport>& all) const {
    const auto left = [](const ElasticReport& report) { return report.exit_code.value_or(1) > 0; };
    return root.is_root && std::none_of(all.begin(), all.end(), [&](const ElasticReport& other) {
             return &other != &root && other.time == root.time && left(other) == left(root) && !EndedByOrder(other);
           });
  }

  void CollectEnds() {
    for (const PlacedEvent& event : incident_.events) {
      for (const ElasticReport& report : event.event->reports) {
        if (!report.rank) continue;
        EndReport end{&event, report.rank, report.exit_code, ShortHost(report.host), IsFirst(report, event.event->reports), false};
        end.told_to = EndedByOrder(report);
        incident_.ends.push_back(std::move(end));
      }
      if (!IsEndReport(event.id()) || event.signature->role <= Role::kPrecursor) continue;
      const std::optional<int32_t> code = EndCode(event.event->fields);
      const bool told_to = event.signature->role == Role::kTeardown || (code && (*code == -15 || *code == 143)) || AfterOrder(event);
      // mpirun reports one process only: the first whose end it noticed.
      const bool first = event.id() == "mpi.signal";
      if (event.accused_ranks.empty() && (event.place.rank || !event.place.host.empty())) {
        incident_.ends.push_back({&event, event.place.rank, code, event.place.host, false, told_to});
      }
      for (int32_t rank : event.accused_ranks) {
        const std::string host = event.accused_hosts.size() == 1 ? event.accused_hosts[0] : "";
        incident_.ends.push_back({&event, rank, code, host, first, told_to});
        if (!host.empty()) SeeRank(rank, host);
      }
    }
  }

  // A process name as training jobs have it: Python, its loader workers, Ray's. Kernel lines cut it to 15 bytes.
  static bool IsTrainer(const PlacedEvent& event) {
    constexpr std::string_view kNames[] = {"python", "pt_", "ray", "torchrun", "train"};
    return std::any_of(std::begin(kNames), std::end(kNames),
                       [&](std::string_view name) { return event.place.process.starts_with(name); });
  }
  bool TrainerDiedToo(const PlacedEvent& event) const {
    return std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& other) {
      return other.place.host == event.place.host && other.id() == event.id() && IsTrainer(other);
    });
  }

  // What a process raised, as its log shows it.
  using RaisedKey = std::tuple<std::string_view, uint32_t, std::string_view>;
  static RaisedKey KeyOfRaised(const PlacedEvent& event) {
    return {LogName(*event.source), event.event->signature, Trim(event.event->text)};
  }

  // An uncaught exception ends a process with this code, and so it may after an order to stop.
  static constexpr int32_t kUncaught = 1;

  // A cause in a log without ranks belongs to the process that a launcher quotes with it, or else to the one
  // whose end the launcher of that host reports: the first, else the only one that ended by itself.
  void RankFromEnds() {
    std::map<RaisedKey, std::set<int32_t>> quoted;  // by a launcher
    std::map<RaisedKey, int64_t> unplaced;          // how often, by whom nobody knows
    for (const PlacedEvent& event : incident_.events) {
      if (!event.event->in_traceback) continue;
      if (!event.place.rank) unplaced[KeyOfRaised(event)] += event.event->count;
      if (event.place.rank && event.event->prefix.launcher) quoted[KeyOfRaised(event)].insert(*event.place.rank);
    }
    std::map<std::string_view, std::set<int32_t>> raised;  // log -> its ranks that raised a cause in their own words
    for (const PlacedEvent& event : incident_.events) {
      const bool cause = event.event->in_traceback && event.signature->role >= Role::kAmbiguous;
      if (cause && event.place.rank && !event.event->prefix.launcher) raised[LogName(*event.source)].insert(*event.place.rank);
    }
    for (PlacedEvent& event : incident_.events) {
      if (event.place.rank) continue;
      if (event.event->in_traceback) {
        // Of several processes of the only host that raised the same, nobody knows whose each line is.
        if (incident_.hosts.size() <= 1 && unplaced[KeyOfRaised(event)] > 1) continue;
        const auto found = quoted.find(KeyOfRaised(event));
        if (found != quoted.end() && found->second.size() == 1) {
          const int32_t rank = *found->second.begin();
          event.place.rank = rank;
          event.place.known_by.push_back("rank: the launcher quotes its exception");
          if (event.place.host.empty()) event.place.host = incident_.ranks[rank].host;
          continue;
        }
      }
      if (event.signature->role < Role::kAmbiguous || SpokenByLauncher(event)) continue;
      // What a program logs as a warning has not ended it; where several ranks raised, a line beside them is anyone's.
      const bool logged = !event.event->in_traceback && IsCaughtLevel(event.event->prefix.level);
      if (logged || (!event.event->in_traceback && raised[LogName(*event.source)].size() > 1)) continue;
      const bool kernel = event.event->prefix.kernel || event.source->info.kind == SourceInfo::Kind::kKernelLog;
      // A kernel line about the end of a process is that process's; one about a device or a wait need not be.
      const bool death = event.id().starts_with("oom.kernel") || event.id().starts_with("seg.");
      if (kernel && (!death || !event.place.pid || (!IsTrainer(event) && TrainerDiedToo(event)))) continue;
      std::set<int32_t> first, all, uncaught;
      std::set<std::string> hosts;
      for (const EndReport& end : incident_.ends) {
        const bool same_log = LogName(*end.event->source) == LogName(*event.source);
        // Two hosts in one log: the end of a process elsewhere is not this one's, where one launcher names both.
        const bool elsewhere = event.signature->row.producer() == end.event->signature->row.producer() &&
                               !end.host.empty() && !event.place.host.empty() && end.host != event.place.host;
        const bool here = (same_log && !elsewhere) || (!end.host.empty() && end.host == event.place.host);
        if (!here || !end.rank || (end.told_to && end.exit_code != kUncaught)) continue;
        const bool another = death && end.exit_code && !LeavesCode(event.id(), *end.exit_code) &&
                             incident_.ranks[*end.rank].pid != event.place.pid;
        if (another) continue;
        (end.first ? first : all).insert(*end.rank);
        if (event.event->in_traceback && end.exit_code == kUncaught) uncaught.insert(*end.rank);
        hosts.insert(end.host);
      }
      const std::set<int32_t>& named = !first.empty() ? first : uncaught.size() == 1 ? uncaught : all;
      // Where as many raised a cause as ended, it is the fault of their host, and one of them is as good as any.
      const bool all_raised = event.event->in_traceback && event.signature->role == Role::kInitiating &&
                              unplaced[KeyOfRaised(event)] >= static_cast<int64_t>(named.size());
      if (event.place.host.empty() && hosts.size() == 1 && incident_.hosts == hosts) event.place.host = *hosts.begin();
      if (named.empty() || (named.size() > 1 && !all_raised)) continue;
      event.place.rank = *named.begin();
      event.place.known_by.push_back("rank: the launcher's report of this host");
      if (event.place.host.empty()) event.place.host = incident_.ranks[*event.place.rank].host;
    }
  }

  // A launcher starts a block of consecutive ranks on its host. From (rank, local rank, host) of some ranks
  // follows where a block begins, and so the host of a rank in it that no line places.
  void HostsByBlock() {
    std::map<int32_t, std::string> host_of_base;
    int32_t size = 0;
    for (const auto& [rank, facts] : incident_.ranks) {
      if (!facts.local_rank || facts.host.empty() || *facts.local_rank > rank) continue;
      const auto [it, fresh] = host_of_base.try_emplace(rank - *facts.local_rank, facts.host);
      if (it->second != facts.host) return;  // not blocks
      size = std::max(size, *facts.local_rank + 1);
    }
    // Blocks are of one size, which divides every beginning: two hosts that begin at 0 and 8 run 8 ranks each.
    int32_t block_size = 0;
    for (const auto& [base, host] : host_of_base) block_size = std::gcd(block_size, base);
    if (block_size > 0) incident_.ranks_expected = host_of_base.rbegin()->first + block_size;
    for (auto& [rank, facts] : incident_.ranks) {
      if (!facts.host.empty()) continue;
      auto block = host_of_base.upper_bound(rank);
      if (block == host_of_base.begin()) continue;
      --block;
      if (rank - block->first >= size) continue;
      facts.host = block->second;
      facts.local_rank = rank - block->first;
    }
  }

  // A rotated log is one log: "train.log" and "train.log.1".
  static std::string_view LogName(const SourceDigest& source) {
    std::string_view path = source.info.path;
    const size_t dot = path.rfind('.');
    if (dot == std::string_view::npos || path.size() - dot > 4 || dot + 1 == path.size()) return path;
    for (char c : path.substr(dot + 1)) {
      if (!IsDigit(c)) return path;
    }
    return path.substr(0, dot);
  }

  // Where all logs know of one host only, the ranks without a host run there.
  void PlaceRelayed() {
    for (PlacedEvent& event : incident_.events) {
      if (event.event->relayed && event.place.rank && event.place.host.empty()) event.place.host = incident_.ranks[*event.place.rank].host;
    }
  }

  void OnlyHost() {
    if (incident_.hosts.size() != 1) return;
    for (auto& [rank, facts] : incident_.ranks) {
      if (facts.host.empty()) facts.host = *incident_.hosts.begin();
    }
    for (PlacedEvent& event : incident_.events) {
      if (event.place.rank && event.place.host.empty()) {
        event.place.host = *incident_.hosts.begin();
        event.place.known_by.push_back("host: the only one in these logs");
      }
    }
  }

  void CollectSuccess() {
    size_t with_steps = 0, done = 0;
    for (const SourceDigest* source : incident_.sources) {
      const auto last = std::find_if(source->progress.rbegin(), source->progress.rend(), [](const Progress& progress) { return !progress.bar; });
      with_steps += last != source->progress.rend();
      done += last != source->progress.rend() && last->last;
    }
    incident_.steps_done = done > 0 && done == with_steps;
    for (const SourceDigest* source : incident_.sources) {
      for (const Event& fact : source->facts) {
        if (SignatureOf(fact).row.id().starts_with("success.")) incident_.success = true;
      }
    }
  }

  const CorrelateOptions& options_;
  Incident incident_;
  Maps maps_;
  bool agents_below_ = false;                // torchrun's agents speak: a launcher's task is an agent, not a rank
  std::map<std::string, int32_t> restarts_;  // of a host, as its log folders count them
};

}  // namespace

std::string ShortHost(std::string_view host) {
  // Every host calls itself so: the log that says it knows better, or nobody does.
  if (host == "localhost" || host.starts_with("localhost.") || host == "127.0.0.1" || host == "::1") return "";
  const bool address = !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
  if (address || host.find(':') != std::string_view::npos) return std::string(host);
  return std::string(host.substr(0, host.find('.')));
}

std::vector<int32_t> ParseRankList(std::string_view text) {
  std::vector<int32_t> out;
  size_t i = 0;
  while (i < text.size() && out.size() < kRankListMax) {
    if (!IsDigit(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsDigit(text[end])) ++end;
    const auto first = ParseNumber<int32_t>(text.substr(i, end - i));
    i = end;
    if (!first || *first > kRankMax) continue;
    int32_t last = *first;
    if (i + 1 < text.size() && text[i] == '-' && IsDigit(text[i + 1])) {
      size_t stop = i + 1;
      while (stop < text.size() && IsDigit(text[stop])) ++stop;
      last = ParseNumber<int32_t>(text.substr(i + 1, stop - i - 1)).value_or(last);
      i = stop;
    }
    for (int32_t rank = *first; rank <= last && out.size() < kRankListMax; ++rank) out.push_back(rank);
  }
  return out;
}

bool LeavesCode(std::string_view kernel_death, int32_t exit_code) {
  // Signals, and 128 + signal as shells report it. A handler of the fault may end in abort().
  struct Row {
    std::string_view family;
    std::initializer_list<int32_t> signals;
  };
  static constexpr int32_t kKill = 9, kSegv = 11, kBus = 7, kIll = 4, kFpe = 8, kAbort = 6;
  static const Row kRows[] = {{"oom.kernel", {kKill}}, {"seg.", {kSegv, kBus, kIll, kFpe, kAbort}}};
  for (const Row& row : kRows) {
    if (!kernel_death.starts_with(row.family)) continue;
    return std::any_of(row.signals.begin(), row.signals.end(),
                       [&](int32_t signal) { return exit_code == -signal || exit_code == 128 + signal; });
  }
  return false;
}

bool IsCaughtLevel(std::string_view level) { return level == "W" || level == "I" || level == "D"; }

bool IsEndReport(std::string_view id) {
  constexpr std::string_view kPrefixes[] = {"elastic.failed",  "ds.exit",        "mosaic.exited",   "pl.child",
                                            "slurm.srun.task", "mpi.nonzero",    "mpi.signal",      "mpi.bad_termination", "mpi.pals",
                                            "spawn.exited",    "spawn.launch_py", "vllm.worker_died", "ray.worker_died", "sh.signal"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return id.starts_with(prefix); });
}

std::vector<std::string> ExpandHostList(std::string_view text) {
  // Commas separate hosts, except inside brackets.
  std::vector<std::string> out;
  size_t at = 0;
  while (at < text.size() && out.size() < kRankListMax) {
    size_t end = at, depth = 0;
    while (end < text.size() && (depth > 0 || text[end] != ',')) {
      depth += text[end] == '[';
      depth -= depth > 0 && text[end] == ']';
      ++end;
    }
    const std::string_view item = Trim(text.substr(at, end - at));
    at = end + 1;
    const size_t open = item.find('[');
    const size_t close = item.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) {
      if (!item.empty()) out.emplace_back(item);
      continue;
    }
    for (std::string_view range : Split(item.substr(open + 1, close - open - 1), ',')) {
      const size_t dash = range.find('-');
      const std::string_view first = range.substr(0, dash);
      const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
      const auto from = ParseNumber<int32_t>(first), to = ParseNumber<int32_t>(last);
      if (!from || !to) continue;
      for (int32_t n = *from; n <= *to && out.size() < kRankListMax; ++n) {
        std::string digits = std::to_string(n);
        if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
        out.push_back(Cat(item.substr(0, open), digits, item.substr(close + 1)));
      }
    }
  }
  return out;
}

Incident BuildIncident(const Catalogue& catalogue, const std::vector<SourceDigest>& sources,
                       const CorrelateOptions& options) {
  return Builder(catalogue, sources, options).Build();
}

}  // namespace firstfault
