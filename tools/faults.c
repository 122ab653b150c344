/* Counts the calls that change files below a folder, records them, and lets one of them fail. Loaded by LD_PRELOAD.
 *
 * FAULT_ROOT  the folder, without links in its path
 * FAULT_LOG   where to record the calls
 * FAULT_AT    the number of the call that fails, from 1; 0 for none
 * FAULT_KIND  kill, eio, enospc (from this call on) or short
 *
 * A record is: kind (1 byte), lengths of path, second path and data (4 bytes each), offset or length (8 bytes), and these
 * three. It is written before the call is made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 'c', TRUNCATE = 't', WRITE = 'w', SYNC = 's', RENAME = 'r', LINK = 'l', UNLINK = 'u', MKDIR = 'm', RMDIR = 'd' };
enum { PASS, FAIL, SHORT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count = 0;
static int full = 0;

#define REAL(name) ({ static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

/* The path of a name in an open folder. */
static void resolve(int folder, const char *name, char *out) {
    char at[64];
    if (name[0] == '/') {
        snprintf(out, PATH_MAX, "%s", name);
        return;
    }
    if (folder == AT_FDCWD) snprintf(at, sizeof at, "/proc/self/cwd");
    else snprintf(at, sizeof at, "/proc/self/fd/%d", folder);
    char base[PATH_MAX];
    ssize_t length = readlink(at, base, sizeof base - 1);
    base[length < 0 ? 0 : length] = 0;
    if (name[0]) {
        if ((size_t)snprintf(out, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) out[0] = 0;
    } else snprintf(out, PATH_MAX, "%s", base);
}

static int watched(const char *path) {
    const char *root = getenv("FAULT_ROOT");
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

/* Records a call and says what becomes of it. */
static int meet(char kind, const char *path, const char *second, uint64_t place, const void *data, uint32_t size) {
    int kept = errno, fate = PASS;
    pthread_mutex_lock(&lock);
    count++;
    const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *how = getenv("FAULT_KIND");
    if (at && how && (atol(at) == count || full)) {
        int grows = kind != SYNC && kind != UNLINK && kind != RMDIR;
        if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(how, "eio")) fate = FAIL, kept = EIO;
        if (!strcmp(how, "enospc") && grows) fate = FAIL, kept = ENOSPC, full = 1;
        if (!strcmp(how, "short") && kind == WRITE) fate = SHORT;
    }
    if (log && fate == PASS) {
        int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        uint32_t lengths[3] = {strlen(path), second ? strlen(second) : 0, size};
        struct iovec parts[6] = {{&kind, 1}, {lengths, 12}, {&place, 8}, {(void *)path, lengths[0]},
                                 {(void *)second, lengths[1]}, {(void *)data, size}};
        if (file >= 0 && REAL(writev)(file, parts, 6) < 0) abort();
        if (file >= 0) close(file);
    }
    pthread_mutex_unlock(&lock);
    errno = kept;
    return fate;
}

static int opened(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (flags & (O_CREAT | O_TRUNC)) {
        resolve(folder, name, path);
        struct stat facts;
        int there = !stat(path, &facts);
        int kept = errno;
        if (watched(path)) {
            if (!there && (flags & O_CREAT) && meet(CREATE, path, NULL, 0, NULL, 0) == FAIL) return -1;
            if (there && (flags & O_TRUNC) && facts.st_size && meet(TRUNCATE, path, NULL, 0, NULL, 0) == FAIL) return -1;
        }
        errno = kept;
    }
    return REAL(openat)(folder, name, flags, mode);
}

#define OPEN(name, ...)                                                                                                \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                          \
    va_end(rest);                                                                                                      \
    return opened(__VA_ARGS__, name, flags, mode)

int open(const char *name, int flags, ...) { OPEN(name, AT_FDCWD); }
int open64(const char *name, int flags, ...) { OPEN(name, AT_FDCWD); }
int openat(int folder, const char *name, int flags, ...);
int openat64(int folder, const char *name, int flags, ...) { OPEN(name, folder); }

static ssize_t written(int file, const void *data, size_t size, off_t at) {
    char path[PATH_MAX];
    resolve(file, "", path);
    if (size && watched(path)) {
        off_t place = at >= 0 ? at : lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        int fate = meet(WRITE, path, NULL, place, data, size);
        if (fate == FAIL) return -1;
        if (fate == SHORT && size > 1) size /= 2;
    }
    return at >= 0 ? REAL(pwrite)(file, data, size, at) : REAL(write)(file, data, size);
}

ssize_t write(int file, const void *data, size_t size) { return written(file, data, size, -1); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) { return written(file, data, size, at); }

ssize_t writev(int file, const struct iovec *parts, int number) {
    char path[PATH_MAX];
    resolve(file, "", path);
    if (!watched(path)) return REAL(writev)(file, parts, number);
    /* A short write is allowed, so the first part that has bytes will do. */
    for (int i = 0; i < number; i++)
        if (parts[i].iov_len) return written(file, parts[i].iov_base, parts[i].iov_len, -1);
    return 0;
}

static int synced(int file, int (*real)(int)) {
    char path[PATH_MAX];
    resolve(file, "", path);
    if (watched(path) && meet(SYNC, path, NULL, 0, NULL, 0) == FAIL) return -1;
    return real(file);
}

int fsync(int file) { return synced(file, REAL(fsync)); }
int fdatasync(int file) { return synced(file, REAL(fdatasync)); }

int ftruncate64(int file, off64_t length) {
    char path[PATH_MAX];
    resolve(file, "", path);
    struct stat facts;
    int changes = fstat(file, &facts) || facts.st_size != length;
    if (changes && watched(path) && meet(TRUNCATE, path, NULL, length, NULL, 0) == FAIL) return -1;
    return REAL(ftruncate64)(file, length);
}

int rename(const char *from, const char *to) {
    char path[PATH_MAX], second[PATH_MAX];
    resolve(AT_FDCWD, from, path);
    resolve(AT_FDCWD, to, second);
    if (watched(second) && meet(RENAME, path, second, 0, NULL, 0) == FAIL) return -1;
    return REAL(rename)(from, to);
}

/* A link keeps its text as it is. */
int symlink(const char *to, const char *name) {
    char path[PATH_MAX];
    struct stat facts;
    resolve(AT_FDCWD, name, path);
    if (watched(path) && lstat(path, &facts) && meet(LINK, path, to, 0, NULL, 0) == FAIL) return -1;
    return REAL(symlink)(to, name);
}

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    struct stat facts;
    resolve(folder, name, path);
    if (watched(path) && !lstat(path, &facts)) {
        char kind = flags & AT_REMOVEDIR ? RMDIR : UNLINK;
        /* A folder that is not empty stays, so nothing changes. */
        if (!(kind == UNLINK && S_ISDIR(facts.st_mode)) && meet(kind, path, NULL, 0, NULL, 0) == FAIL) return -1;
    }
    return REAL(unlinkat)(folder, name, flags);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdir(const char *name, mode_t mode) {
    char path[PATH_MAX], around[PATH_MAX];
    struct stat facts;
    resolve(AT_FDCWD, name, path);
    strcpy(around, path);
    char *end = strrchr(around, '/');
    if (end) *end = 0;
    /* Without the folder around it the call fails and changes nothing. */
    int changes = watched(path) && stat(path, &facts) && !stat(around, &facts);
    if (changes && meet(MKDIR, path, NULL, 0, NULL, 0) == FAIL) return -1;
    return REAL(mkdir)(name, mode);
}
