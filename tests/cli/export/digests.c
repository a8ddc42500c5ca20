/* Print the SHA-256 of the first N bytes 0, 1, ..., 250, 0, 1, ... for N from 0 to 300 and 100000. */
#include "olympus_runtime.c"

int main(void) {
  static unsigned char content[100000];
  unsigned char digest[32];
  for (size_t i = 0; i < sizeof content; i++) {
    content[i] = (unsigned char)(i % 251);
  }
  for (size_t size = 0; size <= 301; size++) {
    sha256(content, size == 301 ? sizeof content : size, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
      printf("%02x", digest[i]);
    }
    puts("");
  }
  return 0;
}
