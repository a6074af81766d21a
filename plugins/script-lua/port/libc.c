/* The part of the C library that Lua needs: strings of bytes in the C locale, and snprintf. The host's
   system has no C library for this target, and a whole one would import files and clocks. Numbers are
   turned into text and back by Rust (src/port.rs). */

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Thread_local int errno;

size_t tarn_format_float(char *out, size_t room, double value, char conversion, int precision,
                         int alternate);
double tarn_parse_float(const char *text, size_t length, size_t *used);

/* Characters. */

int isdigit(int c) { return c >= '0' && c <= '9'; }
int islower(int c) { return c >= 'a' && c <= 'z'; }
int isupper(int c) { return c >= 'A' && c <= 'Z'; }
int isalpha(int c) { return islower(c | 32); }
int isalnum(int c) { return isdigit(c) || isalpha(c); }
int isxdigit(int c) { return isdigit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
int iscntrl(int c) { return (c >= 0 && c < 32) || c == 127; }
int isgraph(int c) { return c > 32 && c < 127; }
int isprint(int c) { return c >= 32 && c < 127; }
int ispunct(int c) { return isgraph(c) && !isalnum(c); }
int isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
int tolower(int c) { return isupper(c) ? c | 32 : c; }
int toupper(int c) { return islower(c) ? c & ~32 : c; }

/* Strings. */

char *strchr(const char *s, int c) {
  for (;; s++) {
    if (*s == (char)c) return (char *)s;
    if (*s == '\0') return NULL;
  }
}

int strcmp(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}

int strcoll(const char *a, const char *b) { return strcmp(a, b); }

int strncmp(const char *a, const char *b, size_t n) {
  for (; n > 0; n--, a++, b++) {
    if (*a != *b) return (unsigned char)*a - (unsigned char)*b;
    if (*a == '\0') break;
  }
  return 0;
}

char *strcpy(char *to, const char *from) {
  memcpy(to, from, strlen(from) + 1);
  return to;
}

size_t strspn(const char *s, const char *set) {
  size_t n = 0;
  while (s[n] != '\0' && strchr(set, s[n]) != NULL) n++;
  return n;
}

char *strpbrk(const char *s, const char *set) {
  for (; *s != '\0'; s++)
    if (strchr(set, *s) != NULL) return (char *)s;
  return NULL;
}

char *strstr(const char *s, const char *part) {
  size_t length = strlen(part);
  for (; strncmp(s, part, length) != 0; s++)
    if (*s == '\0') return NULL;
  return (char *)s;
}

void *memchr(const void *s, int c, size_t n) {
  const unsigned char *at = s;
  for (; n > 0; n--, at++)
    if (*at == (unsigned char)c) return (void *)at;
  return NULL;
}

char *strerror(int code) {
  (void)code;
  return "not supported";
}

/* Numbers. */

double strtod(const char *text, char **end) {
  size_t used = 0;
  double value = tarn_parse_float(text, strlen(text), &used);
  if (end != NULL) *end = (char *)text + used;
  return value;
}

/* Output that counts what does not fit, as snprintf does. */
struct output {
  char *to;
  size_t room;
  size_t length;
};

static void put(struct output *out, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (out->length + i < out->room) out->to[out->length + i] = text[i];
  out->length += length;
}

static void put_repeated(struct output *out, char c, int times) {
  for (; times > 0; times--) put(out, &c, 1);
}

/* A conversion: `%`, flags, width, precision, length, letter. */
struct spec {
  int left, plus, space, alternate, zero;
  int width, precision;
  int wide; /* the argument has 64 bits */
};

static const char *read_number(const char *at, int *number) {
  for (*number = 0; isdigit(*at); at++) *number = *number * 10 + (*at - '0');
  return at;
}

static const char *read_spec(const char *at, struct spec *spec, va_list *arguments) {
  memset(spec, 0, sizeof *spec);
  spec->precision = -1;
  for (;; at++) {
    if (*at == '-') spec->left = 1;
    else if (*at == '+') spec->plus = 1;
    else if (*at == ' ') spec->space = 1;
    else if (*at == '#') spec->alternate = 1;
    else if (*at == '0') spec->zero = 1;
    else break;
  }
  at = read_number(at, &spec->width);
  if (*at == '.') {
    if (at[1] == '*') {
      spec->precision = va_arg(*arguments, int);
      at += 2;
    } else {
      at = read_number(at + 1, &spec->precision);
    }
  }
  while (*at == 'l' || *at == 'h' || *at == 'z') {
    if (at[0] == 'l' && at[1] == 'l') spec->wide = 1;
    at++;
  }
  return at;
}

/* Puts sign or prefix and digits into the width. */
static void put_number(struct output *out, const struct spec *spec, const char *prefix,
                       const char *digits, size_t length, int zero) {
  int padding = spec->width - (int)(strlen(prefix) + length);
  if (!spec->left && !zero) put_repeated(out, ' ', padding);
  put(out, prefix, strlen(prefix));
  if (!spec->left && zero) put_repeated(out, '0', padding);
  put(out, digits, length);
  if (spec->left) put_repeated(out, ' ', padding);
}

static const char *sign_of(const struct spec *spec, int negative) {
  return negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
}

static void put_integer(struct output *out, const struct spec *spec, uint64_t value, unsigned base,
                        const char *letters, const char *prefix) {
  char digits[128]; /* 22 octal digits, or a precision of two digits */
  size_t start = sizeof digits;
  size_t least = sizeof digits - (spec->precision < 0 ? 1 : (size_t)spec->precision % 100);
  while (value != 0 || start > least) {
    digits[--start] = letters[value % base];
    value /= base;
  }
  put_number(out, spec, prefix, digits + start, sizeof digits - start,
             spec->zero && spec->precision < 0);
}

static void put_float(struct output *out, const struct spec *spec, double value, char conversion) {
  char digits[512]; /* 309 digits, a point and a precision of two digits at most */
  int negative = (int)((union { double d; uint64_t u; }){value}.u >> 63);
  int finite = value - value == 0;
  size_t length = tarn_format_float(digits, sizeof digits, negative ? -value : value, conversion,
                                    spec->precision, spec->alternate);
  put_number(out, spec, sign_of(spec, negative), digits, length, spec->zero && finite);
}

static void put_string(struct output *out, const struct spec *spec, const char *text) {
  size_t length = 0;
  while ((spec->precision < 0 || length < (size_t)spec->precision) && text[length] != '\0') length++;
  if (!spec->left) put_repeated(out, ' ', spec->width - (int)length);
  put(out, text, length);
  if (spec->left) put_repeated(out, ' ', spec->width - (int)length);
}

static void put_conversion(struct output *out, const struct spec *spec, char conversion,
                           va_list *arguments) {
  static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
  switch (conversion) {
    case 'd': case 'i': {
      int64_t value = spec->wide ? va_arg(*arguments, int64_t) : va_arg(*arguments, int);
      put_integer(out, spec, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, lower,
                  sign_of(spec, value < 0));
      break;
    }
    case 'u': case 'o': case 'x': case 'X': {
      uint64_t value = spec->wide ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned);
      unsigned base = conversion == 'u' ? 10 : conversion == 'o' ? 8 : 16;
      const char *prefix = !spec->alternate || value == 0 ? "" :
                           conversion == 'x' ? "0x" : conversion == 'X' ? "0X" :
                           conversion == 'o' ? "0" : "";
      put_integer(out, spec, value, base, conversion == 'X' ? upper : lower, prefix);
      break;
    }
    case 'p':
      put_integer(out, spec, (uintptr_t)va_arg(*arguments, void *), 16, lower, "0x");
      break;
    case 'c': {
      char character[2] = {(char)va_arg(*arguments, int), '\0'};
      if (!spec->left) put_repeated(out, ' ', spec->width - 1);
      put(out, character, 1);
      if (spec->left) put_repeated(out, ' ', spec->width - 1);
      break;
    }
    case 's':
      put_string(out, spec, va_arg(*arguments, const char *));
      break;
    case '%':
      put(out, "%", 1);
      break;
    default:
      put_float(out, spec, va_arg(*arguments, double), conversion);
  }
}

int vsnprintf(char *to, size_t room, const char *format, va_list list) {
  struct output out = {to, room > 0 ? room - 1 : 0, 0};
  va_list arguments;
  va_copy(arguments, list);
  for (; *format != '\0'; format++) {
    if (*format != '%') {
      put(&out, format, 1);
      continue;
    }
    struct spec spec;
    format = read_spec(format + 1, &spec, &arguments);
    put_conversion(&out, &spec, *format, &arguments);
  }
  va_end(arguments);
  if (room > 0) to[out.length < out.room ? out.length : out.room] = '\0';
  return (int)out.length;
}

int snprintf(char *to, size_t room, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(to, room, format, arguments);
  va_end(arguments);
  return length;
}

/* What has no meaning here: time, and the files that `loadfile` would read if scripts had it. */

FILE *const stdin = NULL;

FILE *fopen(const char *path, const char *mode) {
  (void)path, (void)mode;
  return NULL;
}

FILE *freopen(const char *path, const char *mode, FILE *file) {
  (void)path, (void)mode, (void)file;
  return NULL;
}

int fclose(FILE *file) {
  (void)file;
  return EOF;
}

size_t fread(void *to, size_t size, size_t count, FILE *file) {
  (void)to, (void)size, (void)count, (void)file;
  return 0;
}

int getc(FILE *file) {
  (void)file;
  return EOF;
}

int feof(FILE *file) {
  (void)file;
  return 1;
}

int ferror(FILE *file) {
  (void)file;
  return 1;
}

time_t time(time_t *out) {
  if (out != NULL) *out = 0;
  return 0;
}

void abort(void) { __builtin_trap(); }
