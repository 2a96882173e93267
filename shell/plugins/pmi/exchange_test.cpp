#include "exchange.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

TEST_CASE("pmi exchange: pairs of all shells reach the root, round after round", "[shell]") {
    for (std::size_t size : {1, 2, 3, 7, 10}) {
        for (std::size_t fanout : {1, 2, 4, 100}) {
            std::vector<PmiExchange> shells;
            for (std::size_t i = 0; i < size; ++i) shells.emplace_back(i, size, fanout);
            for (int round = 0; round < 2; ++round) {
                pmi::Pairs all;
                for (std::size_t i = size; i-- > 0;) {
                    auto up = shells[i].add({{"key" + std::to_string(i), std::to_string(round)}});
                    auto at = i;
                    while (up && !shells[at].root()) {
                        at = shells[at].parent();
                        up = shells[at].add(*up);
                    }
                    if (up) {
                        CHECK(i == 0);
                        all = *up;
                    }
                }
                CHECK(all.size() == size);
                CHECK(all["key0"] == std::to_string(round));
            }
        }
    }
}
