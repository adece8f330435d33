/* All that a machine tells about itself for one connection and one folder: what docs/protocol.md calls facts.
 * The names and units stand in common/host_facts.h, common/link_facts.h and common/folder_facts.h.
 *
 * Some of them are shares of a short time, so this waits, and belongs in a worker. Thread-safe. */
#ifndef COMMON_MACHINE_FACTS_H
#define COMMON_MACHINE_FACTS_H

#include "common/facts.h"

/* The kernel counts the processors' time in steps of 10 ms (USER_HZ): 20 steps tell 5 % from none, and nobody
 * minds the wait. */
#define MACHINE_SAMPLE_MS 200

struct machine_view {
    const char *root;   /* "", or a folder that stands for "/" (common/sysfile.h) */
    int socket;         /* connected to the peer; borrowed */
    int folder;         /* on the file system that counts; borrowed */
    unsigned sample_ms; /* MACHINE_SAMPLE_MS; 0 leaves those shares out */
};

/* `facts` is empty. */
void machine_facts(struct fact_list *facts, const struct machine_view *view);

#endif
