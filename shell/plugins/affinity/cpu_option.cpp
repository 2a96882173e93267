#include "cpu_option.hpp"

#include <flux/error.hpp>

#include <cerrno>

namespace flux::shell {
namespace {

// More hexadecimal digits than CPUs of any machine.
constexpr std::size_t max_digits = 16384 / 4;

[[noreturn]] void refuse(std::string_view text) {
    throw Error(EINVAL, "cpu-affinity: invalid set of cpus '" + std::string(text) + "'");
}

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Add the bits of hexadecimal digits, the last of which stands for CPU `lowest` and those after it.
void add_mask(Idset& cpus, std::string_view digits, Idset::Id lowest, std::string_view all) {
    if (digits.empty() || digits.size() > max_digits) refuse(all);
    for (auto at = digits.rbegin(); at != digits.rend(); ++at, lowest += 4) {
        int bits = digit(*at);
        if (bits < 0) refuse(all);
        for (Idset::Id bit = 0; bit < 4; ++bit)
            if (bits >> bit & 1) cpus.set(lowest + bit);
    }
}

std::string_view take(std::string_view& text, char separator) {
    auto part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

} // namespace

Idset parse_cpus(std::string_view text) {
    Idset cpus;
    if (!text.starts_with("0x")) {
        auto list = Idset::try_parse(text);
        if (!list || list->empty()) refuse(text);
        return *list;
    }
    if (text.find(',') == text.npos) {
        add_mask(cpus, text.substr(2), 0, text);
    } else {
        std::vector<std::string_view> words;
        for (auto rest = text; !rest.empty();) words.push_back(take(rest, ','));
        if (words.size() > max_digits / 8) refuse(text);
        Idset::Id lowest = 0;
        for (auto word = words.rbegin(); word != words.rend(); ++word, lowest += 32) {
            if (word->empty()) continue;
            if (!word->starts_with("0x") || word->size() > 10) refuse(text);
            add_mask(cpus, word->substr(2), lowest, text);
        }
    }
    if (cpus.empty()) refuse(text);
    return cpus;
}

CpuOption CpuOption::parse(std::string_view text) {
    CpuOption option;
    for (;;) {
        if (text.starts_with("map:")) {
            text.remove_prefix(4);
            do {
                option.map.push_back(parse_cpus(take(text, ';')));
            } while (!text.empty());
            return option;
        }
        auto word = take(text, ',');
        if (word == "verbose")
            option.verbose = true;
        else if (word == "dry-run")
            option.dry_run = option.verbose = true;
        else if (word == "per-task")
            option.per_task = true;
        else if (word == "off")
            option.off = true;
        if (text.empty()) return option;
    }
}

std::vector<Idset> divide_cores(const Idset& cores, std::size_t ntasks) {
    std::vector<Idset> sets(ntasks);
    auto count = cores.count();
    if (count == 0) return sets;
    std::size_t number = 0;
    if (count >= ntasks) {
        for (auto core : cores) sets[number++ * ntasks / count].set(core);
    } else {
        for (auto& set : sets) set.set(*cores.nth(number++ * count / ntasks));
    }
    return sets;
}

std::optional<Idset> cpus_of(const Idset& cores, std::span<const Idset> core_cpus) {
    Idset cpus;
    if (cores.last() >= core_cpus.size()) return std::nullopt;
    for (auto core : cores) cpus |= core_cpus[core];
    return cpus;
}

} // namespace flux::shell
