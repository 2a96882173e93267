// The counter's next version.
#define COUNTER_VERSION 2
#define COUNTER_START
#include "counter.cpp"
