/* Functions of double numbers for a compiler that comes without a library of them. Each is exact to a few units in the last place: arguments
   are brought near zero (Cody & Waite 1980, Software Manual for the Elementary Functions), where a short series does. */
#define LN2_HIGH 6.93147180369123816490e-01 /* few enough bits that a whole number times it is exact */
#define LN2_LOW 1.90821492927058770002e-10
__device__ static inline double exp_parts(double x, int *n) { /* exp(x) = 2^n (1 + what is returned) */
  const double whole = __builtin_rint(x * 1.44269504088896340736);
  const double r = (x - whole * LN2_HIGH) - whole * LN2_LOW;
  double sum = 1.0 / 14;
  for (int k = 13; k > 1; --k) sum = (1.0 + r * sum) / k;
  *n = (int)whole;
  return r * (1.0 + r * sum);
}
__device__ static inline double exp(double x) {
  const double near = x < -800.0 ? -800.0 : x > 800.0 ? 800.0 : x; /* NaN stays */
  int n;
  const double rest = exp_parts(near, &n);
  return __builtin_ldexp(1.0 + rest, n);
}
__device__ static inline double expm1(double x) {
  const double near = x < -50.0 ? -50.0 : x > 800.0 ? 800.0 : x;
  int n;
  const double rest = exp_parts(near, &n);
  const double power = __builtin_ldexp(1.0, n);
  return n > 60 ? __builtin_ldexp(1.0 + rest, n) : power * rest + (power - 1.0);
}
__device__ static inline double log(double x) {
  int e = FREXP_EXP(x);
  double m = FREXP_MANT(x);
  if (m < 0.70710678118654752440) { m *= 2.0; e -= 1; }
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double sum = 1.0 / 23;
  for (int k = 21; k > 1; k -= 2) sum = 1.0 / k + z * sum;
  const double found = e * LN2_HIGH + (2.0 * s + (2.0 * s * z * sum + e * LN2_LOW));
  if (!(x > 0.0)) return x == 0.0 ? -1.0 / 0.0 : 0.0 / 0.0;
  return x - x == 0.0 ? found : x;
}
__device__ static inline double log1p(double x) { /* what 1 + x rounds away is put back (Kahan) */
  const double u = 1.0 + x;
  const double found = log(u) + (x - (u - 1.0)) / u;
  return u > 0.0 && u - u == 0.0 ? found : log(u);
}
__device__ static inline double asinh(double x) {
  const double a = x < 0.0 ? -x : x;
  const double y = a + a * a / (1.0 + __builtin_sqrt(1.0 + a * a));
  const double found = a > 1e9 ? log(a) + (LN2_HIGH + LN2_LOW) : log1p(y);
  return x < 0.0 ? -found : found;
}
__device__ static inline double asin(double x) {
  const double a = x < 0.0 ? -x : x;
  const int far = a > 0.5; /* asin a = pi/2 - 2 asin(sqrt((1 - a)/2)) */
  const double y = far ? __builtin_sqrt(0.5 * (1.0 - a)) : a, z = y * y;
  double sum = 1.0;
  for (int k = 26; k > 0; --k) sum = 1.0 + z * sum * (2.0 * k - 1.0) * (2.0 * k - 1.0) / (2.0 * k * (2.0 * k + 1.0));
  const double near = y * sum, found = far ? 1.57079632679489661923 - 2.0 * near : near;
  return x < 0.0 ? -found : found;
}
