#include "inventory.hpp"

#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::resource {

Inventory::Inventory(Handle& handle, Scope& scope, const Options& options, State& state, Journal& journal,
                     std::uint32_t size, Report report)
    : handle_(handle),
      scope_(scope),
      options_(options),
      state_(state),
      journal_(journal),
      size_(size),
      report_(std::move(report)) {}

void Inventory::start(std::optional<ResourceSet> configured, const std::optional<std::string>& stored,
                      std::optional<Origin> origin) {
    if (configured)
        define(std::move(*configured), "configuration");
    else if (stored)
        define(ResourceSet::parse(*stored), "kvs");
    if (origin && !configured)
        scope_.spawn("resources of the parent instance", &Inventory::ask_parent, this, std::move(*origin));
    else if (!known_)
        discover();
}

Task<> Inventory::ask_parent(Inventory* self, Origin origin) {
    std::optional<Parent> parent;
    try {
        parent.emplace(self->handle_.loop(), origin.uri, origin.job);
        auto R = co_await parent->resources(!self->options_.no_update_watch);
        self->use_parent(std::move(R));
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        self->report_.log(LogLevel::warning, fmt::format("resources of job {} in the parent instance: {}, ignoring",
                                                         origin.job.f58(), error.what()));
        if (!self->known_) self->discover();
        co_return;
    }
    auto on_change = [self](double expiration) {
        self->expiration_ = expiration;
        if (self->known_) self->update_expiration(expiration);
    };
    co_await parent->follow(on_change);
}

void Inventory::use_parent(ResourceSet R) {
    expiration_ = R.expiration;
    if (known_) {
        if (expiration_ != state_.current().expiration) update_expiration(expiration_);
        return;
    }
    if (options_.rediscover || R.nnodes() != size_) return discover();
    auto hosts = state_.hosts();
    auto unique = hosts;
    unique.sort_unique();
    if (unique.size() == hosts.size()) {
        try {
            R.rerank(hosts);
        } catch (const Error& error) {
            report_.log(LogLevel::warning, fmt::format("error reranking R: {}, ignoring", error.what()));
        }
    }
    R.remap();
    R.nslots = 0;
    define(std::move(R), "job-info");
}

void Inventory::discover() {
    discovering_ = true;
    if (known_ || found_.nnodes() < size_) return;
    auto R = found_;
    R.expiration = expiration_;
    define(std::move(R), "dynamic-discovery");
}

void Inventory::found(const ResourceSet& resources) {
    found_.remove_ranks(resources.ranks());
    found_.append(resources);
    if (discovering_) discover();
    if (state_.defined()) verify(resources);
}

void Inventory::defined() { verify(found_); }

bool Inventory::verifies() const {
    if (options_.noverify || state_.method() == "dynamic-discovery" || state_.method() == "reload") return false;
    return options_.verify_given || state_.method() != "job-info";
}

// A host that is not what it should be gets no jobs until somebody has had a look.
void Inventory::verify(const ResourceSet& resources) {
    if (!verifies()) return;
    auto explained = state_.drain().explained() | state_.exclude();
    for (auto rank : resources.ranks()) {
        auto text = options_.verification.check(rank, state_.R(), resources);
        if (text.empty() || explained.test(rank)) continue;
        report_.log(LogLevel::err, "draining: " + text);
        auto context =
            Json::object("idset", std::to_string(rank), "nodelist", state_.host(rank), "reason", text, "overwrite", 0);
        journal_.commit(EventlogEntry("drain", std::move(context)));
    }
}

void Inventory::define(ResourceSet R, std::string method, Journal::Done done) {
    known_ = true;
    kvs::Transaction changes;
    if (method != "kvs") changes.put_json(resource_protocol::R_key, R.encode());
    state_.stage(std::move(R));
    auto finished = [this, done = std::move(done)](const Error* failure) {
        if (failure) report_.failed(*failure);
        if (done) done(failure);
    };
    journal_.commit(EventlogEntry("resource-define", Json::object("method", method)), std::move(finished),
                    std::move(changes));
}

void Inventory::update_expiration(double expiration, Journal::Done done) {
    auto R = state_.current();
    R.expiration = expiration;
    kvs::Transaction changes;
    changes.put_json(resource_protocol::R_key, R.encode());
    journal_.commit(EventlogEntry("resource-update", Json::object("expiration", expiration)), std::move(done),
                    std::move(changes));
}

} // namespace flux::resource
