/// The tables themselves. A new option is one line here, its code in the command, and a line in the
/// manual and the completions, which a test compares with this.

#include <array>

#include "options.h"

namespace spool {

namespace {

using enum OptionKind;

constexpr auto kCommon = std::to_array<OptionDef>({
    {"dir", 'd', kValue, "DIR", "log directory (default $SPOOL_DIR, else ~/.local/state/spool)"},
    {"quiet", 'q', kFlag, "", "no warnings on stderr"},
    {"verbose", 'v', kFlag, "", "say more on stderr"},
    {"color", '\0', kValue, "WHEN", "colour on stderr: auto, always, never", "auto,always,never"},
    {"progress", '\0', kValue, "WHEN", "progress on stderr: auto, always, never",
     "auto,always,never"},
    {"timeout", '\0', kValue, "DUR", "status 124 when nothing happened for DUR"},
    {"help", 'h', kFlag, "", "show this help"},
    {"version", 'V', kFlag, "", "show the version"},
});

constexpr auto kProduce = std::to_array<OptionDef>({
    {"topic", 't', kValue, "T", "topic (default: the first word)"},
    {"delimiter", 'D', kValue, "S", "record delimiter (default \\n)"},
    {"null", '0', kFlag, "", "records end in a NUL byte"},
    {"whole", 'w', kFlag, "", "each file, or all of stdin, is one record"},
    {"lines", 'l', kFlag, "", "a line is a record (the default)"},
    {"key-delimiter", 'K', kValue, "S", "key and value are separated by the first S"},
    {"key", 'k', kValue, "S", "key of every record"},
    {"value", '\0', kList, "S", "a record of this value; stdin is not read; repeatable"},
    {"header", 'H', kList, "N=V", "header of every record (N:V too; N alone is null); repeatable"},
    {"format", 'F', kValue, "FMT", "input format, such as '%k{hex} %v\\n'"},
    {"json", 'J', kFlag, "", "a JSON record a line, as consume -J writes them"},
    {"tombstone", 'Z', kFlag, "", "an empty value becomes null; with -k alone: one tombstone"},
    {"null-marker", '\0', kValue, "S", "a key or value that equals S is null"},
    {"on-bad", '\0', kValue, "WHAT", "a record that does not fit: stop, skip, keyless",
     "stop,skip,keyless"},
    {"partition", 'p', kValue, "N", "partition of every record"},
    {"partitioner", '\0', kValue, "NAME", "murmur2 (Java's), crc32, xxh3, rr, sticky, random",
     "murmur2,crc32,xxh3,rr,sticky,random"},
    {"timestamp", '\0', kValue, "TIME", "time of every record (default now)", "", "", "",
     "now,today,yesterday"},
    {"compression", 'z', kValue, "C[:L]", "none, gzip, snappy, lz4, zstd, and a level", "", "", "",
     "none,gzip,snappy,lz4,zstd"},
    {"acks", '\0', kValue, "N", "0, 1, all; in a directory --fsync decides", "0,1,all,-1"},
    {"fsync", '\0', kValue, "WHEN", "never, batch (default), record", "never,batch,record"},
    {"linger", '\0', kValue, "DUR", "wait so long for more before a batch is appended"},
    {"batch-bytes", '\0', kValue, "N", "size of a batch before compression"},
    {"count", 'c', kValue, "N", "stop after N records"},
    {"rate", '\0', kValue, "N[/s]", "at most N records a second"},
    {"tee", 'T', kFlag, "", "copy the input to stdout"},
    {"report", '\0', kOptional, "FMT", "a line for each stored record (default '%p %o')"},
    {"partitions", '\0', kValue, "N", "partitions of a topic that is made (default 1)"},
    {"no-create", '\0', kFlag, "", "do not make a missing topic"},
    {"config-topic", '\0', kList, "K=V", "config of a topic that is made; repeatable"},
    {"max-record-bytes", '\0', kValue, "N", "longest record (default 64M)"},
});

constexpr auto kConsume = std::to_array<OptionDef>({
    {"topic", 't', kList, "T", "a topic, besides the words; repeatable"},
    {"follow", 'f', kFlag, "", "wait for more at the end"},
    {"retry", '\0', kFlag, "", "with -f: wait for the topic to appear, or to come back"},
    {"pid", '\0', kValue, "P", "with -f: end when process P is gone"},
    {"exit", 'e', kFlag, "", "end at the end of data (the default)"},
    {"tail", 'n', kValue, "N", "the last N records of the topic by time; +N: from the Nth on"},
    {"count", 'c', kValue, "N", "stop after N records", "", "max-messages,num"},
    {"offset", 'o', kList, "SPEC", "where to start, and to end; P=SPEC for one partition", "", "",
     "", "start,end"},
    {"from", '\0', kValue, "X", "start at an offset or a time", "", "", "", "now,today,yesterday"},
    {"until", '\0', kValue, "X", "end before an offset or a time", "", "", "",
     "now,today,yesterday"},
    {"from-beginning", '\0', kFlag, "", "start at the log start (the default)"},
    {"partition", 'p', kValue, "LIST", "only these partitions, such as 0,2,4-7"},
    {"group", 'g', kValue, "G",
     "share the partitions with all of this name; go on where it stopped"},
    {"reset", '\0', kValue, "WHERE",
     "where a group without a commit starts: earliest, latest, error", "earliest,latest,error"},
    {"commit", '\0', kValue, "WHEN", "what counts as consumed: written (default), end, never",
     "written,end,never"},
    {"exec", '\0', kValue, "CMD", "give each record to sh -c CMD; committed when that succeeds"},
    {"batch", '\0', kValue, "N", "with --exec: up to N records at a time"},
    {"ack-fd", '\0', kValue, "FD",
     "commit what is read back from FD: lines TOPIC PARTITION OFFSET"},
    {"offsets-file", '\0', kValue, "F", "keep the offsets in F instead of in a group"},
    {"format", 'F', kValue, "FMT", "output format, such as '%p %o %v\\n'"},
    {"json", 'J', kFlag, "", "a JSON record a line"},
    {"delimiter", 'D', kValue, "S", "behind each record (default \\n)"},
    {"null", '0', kFlag, "", "a NUL byte behind each record"},
    {"key-delimiter", 'K', kValue, "S", "print the key, S, then the value"},
    {"null-marker", '\0', kValue, "S", "what stands for null (default nothing)"},
    {"key", '\0', kValue, "GLOB", "only records whose key matches"},
    {"header", '\0', kList, "N=GLOB", "only records with a matching header; repeatable"},
    {"grep", '\0', kValue, "RE", "only records whose value matches the extended regex"},
    {"isolation-level", '\0', kValue, "LEVEL", "read_committed (default), read_uncommitted",
     "read_committed,read_uncommitted"},
    {"control", '\0', kFlag, "", "print transaction markers too"},
    {"unbuffered", 'u', kFlag, "", "write after each record"},
    {"fail-empty", '\0', kFlag, "", "status 1 when nothing was printed"},
    {"skip-damaged", '\0', kFlag, "", "go on behind damage; still status 6"},
    {"raw", '\0', kFlag, "", "no escaping on a terminal"},
});

constexpr auto kTopics = std::to_array<OptionDef>({
    {"partitions", 'p', kValue, "N",
     "create (default 1), alter: how many; trim, offsets: which, such as 0,2,4-7", "", "",
     "create alter trim offsets"},
    {"replication-factor", 'r', kValue, "N", "copies of each partition; 1 in a directory", "", "",
     "create", "1"},
    {"config", 'c', kList, "K=V", "a config under Kafka's name; repeatable", "", "",
     "create alter"},
    {"delete-config", '\0', kList, "K", "back to the default; repeatable", "", "", "alter"},
    {"offset", 'o', kValue, "SPEC", "what is before it goes: N, end, -N, @TIME", "", "", "trim"},
    {"at", '\0', kValue, "TIME", "offset at a time, or start, or end (default)", "", "", "offsets"},
    {"cluster", '\0', kFlag, "", "describe the directory instead of topics", "", "", "describe"},
    {"if-not-exists", '\0', kFlag, "", "an existing topic is no error", "", "", "create"},
    {"if-exists", '\0', kFlag, "", "a missing topic is no error", "", "",
     "alter delete trim offsets"},
    {"dry-run", '\0', kFlag, "", "print what would be done, and do nothing", "", "",
     "create alter delete trim repair"},
    {"yes", 'y', kFlag, "", "do not ask; repair: do it", "", "", "delete trim repair"},
    {"regex", '\0', kFlag, "", "words are extended regular expressions", "", "",
     "list describe alter delete trim offsets verify repair"},
    {"internal", '\0', kFlag, "", "internal topics too", "", "",
     "list describe alter delete trim offsets verify repair"},
    {"format", '\0', kValue, "F", "text (default), json, jsonl, tsv, csv",
     "text,json,jsonl,tsv,csv", "", "list describe alter delete trim offsets verify repair dump"},
    {"print-data-log", '\0', kFlag, "", "print the records of a .log, too", "", "", "dump"},
});

constexpr auto kGroups = std::to_array<OptionDef>({
    {"members", '\0', kFlag, "", "who reads what", "", "", "describe"},
    {"state", '\0', kFlag, "", "state, members and generation of each group", "", "",
     "list describe"},
    {"offsets", '\0', kFlag, "", "offsets and lag of each partition (the default)", "", "",
     "describe"},
    {"all-groups", '\0', kFlag, "", "all groups (the default where none is named)", "", "",
     "describe"},
    {"topic", 't', kList, "T[:P]", "only this topic, or these partitions of it; repeatable", "", "",
     "describe delete-offsets export copy"},
    {"regex", '\0', kFlag, "", "words are extended regular expressions", "", "", "list describe"},
    {"watch", 'w', kOptional, "SECS", "again every SECS seconds (default 2), with rates", "", "",
     "describe"},
    {"max-lag", '\0', kValue, "N", "status 1 when a group is more than N records behind", "", "",
     "describe"},
    {"until-caught-up", '\0', kFlag, "", "wait until nothing is left to read", "", "", "describe"},
    {"format", '\0', kValue, "F", "text (default), json, jsonl, tsv, csv",
     "text,json,jsonl,tsv,csv", "", "list describe"},
});

constexpr auto kResetOffsets = std::to_array<OptionDef>({
    {"group", 'g', kList, "G", "the group; repeatable"},
    {"topic", 't', kList, "T[:P,P]", "a topic, or these partitions of it; repeatable"},
    {"all-topics", '\0', kFlag, "", "all topics of which the group has an offset"},
    {"to-earliest", '\0', kFlag, "", "to the log start"},
    {"to-latest", '\0', kFlag, "", "to the end"},
    {"to-current", '\0', kFlag, "", "to where it is (for --export)"},
    {"to-offset", '\0', kValue, "N", "to this offset"},
    {"shift-by", '\0', kValue, "N", "by N records, back where N is negative"},
    {"to-datetime", '\0', kValue, "TIME", "to the first record at or after TIME"},
    {"by-duration", '\0', kValue, "DUR", "to the first record at or after DUR ago"},
    {"from-file", '\0', kValue, "F", "to what a file says: CSV, lines T P O, or JSON; - is stdin"},
    {"to-group", '\0', kValue, "G", "to where another group is"},
    {"to", '\0', kValue, "SPEC", "to a place as consume -o takes it"},
    {"undo", '\0', kFlag, "", "to where the last executed reset found it"},
    {"execute", 'y', kFlag, "", "do it; without it only the plan is shown", "", "yes"},
    {"dry-run", '\0', kFlag, "", "show the plan (the default)"},
    {"export", '\0', kFlag, "", "print the plan as CSV for --from-file, and nothing else"},
    {"strict", '\0', kFlag, "", "an offset out of range is an error, not cut to the range"},
    {"force", '\0', kFlag, "", "though members live: what they commit later is refused"},
    {"format", '\0', kValue, "F", "text (default), json, jsonl, tsv, csv",
     "text,json,jsonl,tsv,csv"},
});

constexpr auto kReplay = std::to_array<OptionDef>({
    {"topic", 't', kList, "T", "a topic, besides the words; repeatable"},
    {"to-topic", '\0', kValue, "T", "append to this topic, made when missing"},
    {"to-dir", '\0', kValue, "DIR", "append to topics in this directory, made when missing"},
    {"offset", 'o', kList, "SPEC", "where to start, and to end; P=SPEC for one partition"},
    {"from", '\0', kValue, "X", "start at an offset or a time"},
    {"until", '\0', kValue, "X", "end before an offset or a time"},
    {"partition", 'p', kValue, "LIST", "only these partitions, such as 0,2,4-7"},
    {"count", 'c', kValue, "N", "stop after N records"},
    {"speed", '\0', kValue, "N", "1 (original pace, default), N times as fast, max"},
    {"timestamps", '\0', kValue, "WHICH", "of the copies: keep (default), now", "keep,now"},
    {"partitions", '\0', kValue, "HOW", "keep (default where the counts match), hash", "keep,hash"},
    {"origin-headers", '\0', kFlag, "", "add headers that say where a record came from"},
    {"resume", '\0', kValue, "FILE", "go on where the run before ended; FILE remembers it"},
    {"verbatim", '\0', kFlag, "", "copy batches as they are, at the same offsets"},
    {"key", '\0', kValue, "GLOB", "only records whose key matches"},
    {"header", '\0', kList, "N=GLOB", "only records with a matching header; repeatable"},
    {"grep", '\0', kValue, "RE", "only records whose value matches the extended regex"},
    {"isolation-level", '\0', kValue, "LEVEL", "read_committed (default), read_uncommitted",
     "read_committed,read_uncommitted"},
    {"skip-damaged", '\0', kFlag, "", "go on behind damage; still status 6"},
    {"fail-empty", '\0', kFlag, "", "status 1 when there was no record"},
    {"format", 'F', kValue, "FMT", "without a target: output format, such as '%p %o %v\\n'"},
    {"json", 'J', kFlag, "", "without a target: a JSON record a line"},
    {"delimiter", 'D', kValue, "S", "without a target: behind each record (default \\n)"},
    {"null", '0', kFlag, "", "without a target: a NUL byte behind each record"},
    {"key-delimiter", 'K', kValue, "S", "without a target: print the key, S, then the value"},
    {"null-marker", '\0', kValue, "S", "without a target: what stands for null"},
    {"unbuffered", 'u', kFlag, "", "without a target: write after each record"},
    {"raw", '\0', kFlag, "", "without a target: no escaping on a terminal"},
});

constexpr auto kCommands = std::to_array<CommandDef>({
    {"produce", "[TOPIC] [FILE...] [OPTIONS]", "append lines or other input to a topic", kProduce},
    {"consume", "TOPIC... [OPTIONS]", "print the records of topics", kConsume},
    {"topics",
     "list | create T... | alter T | describe [T...] | delete T... | trim T | offsets T | "
     "verify [T...] | repair [T...] | dump FILE|T... [OPTIONS]",
     "make, change, list, trim, check and repair topics", kTopics},
    {"groups", "list | describe [G...] | delete G... | delete-offsets G | export G | copy G G",
     "show, copy and delete consumer groups", kGroups},
    {"reset-offsets", "-g G (-t T | --all-topics) [OPTIONS]", "move a group to other offsets",
     kResetOffsets},
    {"replay", "TOPIC... [--to-topic T2] [--to-dir DIR] [OPTIONS]",
     "replay a window of topics at its own pace", kReplay},
});

}  // namespace

std::span<const OptionDef> common_options() {
  return kCommon;
}
std::span<const CommandDef> commands() {
  return kCommands;
}

}  // namespace spool
