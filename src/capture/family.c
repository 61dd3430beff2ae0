#include "capture/family.h"
void family_patch(void) {}
