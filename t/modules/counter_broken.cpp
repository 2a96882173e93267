// A version of the counter that fails to start: a reload with it must be rolled back.
#define COUNTER_VERSION 3
#define COUNTER_START throw flux::Error(EXDEV, "this version is broken");
#include "counter.cpp"
