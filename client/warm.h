/* Files into the page cache: those that are asked for and no others, and how much of them is there then.
 *
 *   warm_begin() … warm_file() for each … the sums are in the struct
 *
 * Never reads more than fits into what the kernel calls available (MemAvailable of /proc/meminfo) at the
 * beginning, for beyond that each page read would drive out another of the same model. What is there already
 * is not read. Blocking; one thread; a signal ends the reading, not the counting. */
#ifndef CLIENT_WARM_H
#define CLIENT_WARM_H

#include "client/options.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>

struct warm {
    uint64_t bytes;     /* of all files */
    uint64_t resident;  /* thereof in the page cache, measured afterwards */
    uint64_t available; /* memory at the beginning; UINT64_MAX if it is not known */
    uint64_t room;      /* what is left of that */
    bool is_network;    /* the files lie on another machine */
    bool is_counted;    /* false: the kernel does not tell what is resident */
    char *buffer;
};

/* `folder` is where the files lie. warm_end() frees the buffer; the sums stay. */
void warm_begin(struct warm *warm, int folder);
void warm_file(struct warm *warm, int folder, const char *path);
void warm_end(struct warm *warm);

/* All regular files below the folder, from beginning to end; says on standard error what came of it. */
void warm_path(struct warm *warm, const char *folder, const struct options *options);

/* One line: "4.2 GB of 4.2 GB are in the page cache". Returns `text`. */
#define WARM_TEXT_MAX 256
char *warm_text(char text[WARM_TEXT_MAX], const struct warm *warm);

/* What loaders should be told where the files lie on another machine, or NULL: a mapping fetches page by page
 * there, while reading goes at the rate of the network. llama.cpp: --load-mode, its older name --no-mmap;
 * vLLM: --safetensors-load-strategy (vllm/config/load.py). */
const char *warm_loader_hint(const struct warm *warm);

/* Adds "warm":{"bytes","resident","loader"}; resident is null where the kernel does not tell. */
void warm_add_json(struct json *object, const struct warm *warm);

/* Whether a file system of that type, as mountinfo calls it, is another machine's. Pure. */
bool warm_is_network(const char *type);

#endif
