/* SHA-256 (FIPS 180-4). */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(OLYMPUS_PLAIN_DIGEST)
#define HAS_SHA_INSTRUCTIONS 1 /* the compiler knows them; the processor may lack them */
#else
#define HAS_SHA_INSTRUCTIONS 0
#endif

static const uint32_t ROUND_CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static uint32_t big_endian(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* One round, in which the eight values keep their places: a and e of the next one are d and h. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                     \
  do {                                                                                       \
    uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +                 \
                     ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i] + w[i];                       \
    d += first;                                                                              \
    h = first + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +                          \
        ((a & b) ^ (a & c) ^ (b & c));                                                       \
  } while (0)

static void digest_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64];
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 16; i++) {
    w[i] = big_endian(block + 4 * i);
  }
  for (int i = 16; i < 64; i++) {
    uint32_t low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  for (int i = 0; i < 64; i += 8) {
    ROUND(a, b, c, d, e, f, g, h, i);
    ROUND(h, a, b, c, d, e, f, g, i + 1);
    ROUND(g, h, a, b, c, d, e, f, i + 2);
    ROUND(f, g, h, a, b, c, d, e, i + 3);
    ROUND(e, f, g, h, a, b, c, d, i + 4);
    ROUND(d, e, f, g, h, a, b, c, i + 5);
    ROUND(c, d, e, f, g, h, a, b, i + 6);
    ROUND(b, c, d, e, f, g, h, a, i + 7);
  }
  const uint32_t values[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) {
    state[i] += values[i];
  }
}

#if HAS_SHA_INSTRUCTIONS
/* The same for several blocks, with the instructions of newer processors: 4 times as fast. */
__attribute__((target("sha,sse4.1"))) static void digest_fast(uint32_t state[8],
                                                              const unsigned char *block,
                                                              uint64_t count) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
  __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
  __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; count > 0; count--, block += 64) {
    __m128i w[4], abef_before = abef, cdgh_before = cdgh;
    for (int i = 0; i < 16; i++) {
      __m128i *now = &w[i % 4], before = w[(i + 3) % 4];
      if (i < 4) {
        *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), order);
      } else {
        __m128i middle = _mm_alignr_epi8(before, w[(i + 2) % 4], 4);
        *now = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]), middle);
        *now = _mm_sha256msg2_epu32(*now, before);
      }
      const __m128i *constants = (const __m128i *)(ROUND_CONSTANTS + 4 * i);
      __m128i words = _mm_add_epi32(*now, _mm_loadu_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  low = _mm_shuffle_epi32(abef, 0x1b);
  high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static int has_sha_instructions(void) {
  unsigned a = 0, b = 0, c = 0, d = 0, e = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) != 0 &&
         __get_cpuid(1, &a, &e, &c, &d) && (c >> 19 & 1) != 0;
}
#endif

static void digest_blocks(uint32_t state[8], const unsigned char *block, uint64_t count) {
#if HAS_SHA_INSTRUCTIONS
  if (has_sha_instructions()) {
    digest_fast(state, block, count);
    return;
  }
#endif
  for (; count > 0; count--, block += 64) {
    digest_block(state, block);
  }
}

static void sha256(const unsigned char *content, uint64_t size, unsigned char digest[32]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char tail[128] = {0};
  uint64_t whole = size / 64 * 64, rest = size - whole;
  digest_blocks(state, content, size / 64);
  if (rest > 0) {
    memcpy(tail, content + whole, (size_t)rest);
  }
  tail[rest] = 0x80;
  size_t end = rest < 56 ? 64 : 128;
  for (size_t i = 0; i < 8; i++) {
    tail[end - 1 - i] = (unsigned char)(size * 8 >> 8 * i);
  }
  digest_blocks(state, tail, end / 64);
  for (size_t i = 0; i < 32; i++) {
    digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
  }
}
