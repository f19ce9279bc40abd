#include "correlate/clock_solve.h"
