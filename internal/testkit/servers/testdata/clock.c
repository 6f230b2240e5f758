// Preloaded into a server, this lets a test move the server's wall clock while it runs: by as many
// microseconds as the file says that HOLDFAST_CLOCK names. The monotonic clock stays as it is.
//
// The kernel is asked directly. The C library's own functions may be in use by whoever asks for the time.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void open_clock(void) {
	const char *path = getenv("HOLDFAST_CLOCK");
	int fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0) {
		return;
	}
	void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		ahead = page;
	}
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *now) {
	long result = syscall(SYS_clock_gettime, id, now);
	if (result == 0 && ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		int64_t ns = now->tv_nsec + *ahead % 1000000 * 1000;
		now->tv_sec += *ahead / 1000000 + (ns >= 1000000000) - (ns < 0);
		now->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
	}
	return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	(void)zone;
	struct timespec t;
	int result = clock_gettime(CLOCK_REALTIME, &t);
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return result;
}

time_t time(time_t *now) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (now) {
		*now = t.tv_sec;
	}
	return t.tv_sec;
}
