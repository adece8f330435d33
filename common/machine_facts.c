/* Two looks, some time apart, at what only counts up. */
#include "common/machine_facts.h"

#include "common/folder_facts.h"
#include "common/host_facts.h"
#include "common/link_facts.h"

#include <errno.h>
#include <time.h>

static void wait_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

void machine_facts(struct fact_list *facts, const struct machine_view *view)
{
    struct host_sample host[2];
    struct folder_sample disk[2];
    host_sample(&host[0], view->root);
    folder_sample(&disk[0], view->root, view->folder);
    wait_ms(view->sample_ms);
    host_sample(&host[1], view->root);
    folder_sample(&disk[1], view->root, view->folder);
    host_facts(facts, view->root, &host[0], &host[1]);
    link_facts(facts, view->socket);
    folder_facts(facts, view->root, view->folder, &disk[0], &disk[1]);
}
