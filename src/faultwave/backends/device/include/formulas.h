/* What formulas are written with; see backends/formula.py. */
typedef R V;
typedef int VM;
#define SPLAT(x) ((R)(x))
#define ALL 1
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define v_any(m) (m)
/* A NaN on either side stays a NaN, as in NumPy. */
#define v_minimum(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define v_maximum(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define v_abs fabs
#define v_sqrt sqrt
#define v_exp exp
#define v_log log
#define v_log1p log1p
#define v_expm1 expm1
#define v_sinh sinh
#define v_cosh cosh
#define v_tanh tanh
#define v_asinh asinh
#define v_asin asin
#define v_atan atan
#define v_sin sin
#define v_cos cos
#define v_erf erf
#define v_pow pow
#define v_hypot hypot
