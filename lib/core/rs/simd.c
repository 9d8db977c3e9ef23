#include "core/rs/forms.h"

const struct sb_rs_form sb_rs_simd_forms[] = {{.name = NULL}};
