/* mstore: options, then one of the commands. */
#include "client/bench_path.h"
#include "client/commands.h"
#include "client/help.h"
#include "client/interrupt.h"
#include "client/options.h"
#include "client/output.h"
#include "common/log.h"

#include <string.h>

static int (*const commands[COMMAND_COUNT])(const struct options *) = {
    [COMMAND_PUSH] = command_push,
    [COMMAND_PULL] = command_pull,
    [COMMAND_LS] = command_list,
    [COMMAND_INFO] = command_info,
    [COMMAND_RM] = command_remove,
    [COMMAND_VERIFY] = command_verify,
    [COMMAND_DOCTOR] = command_doctor,
    [COMMAND_STATUS] = command_status,
    [COMMAND_BENCH] = bench_path,
    [COMMAND_BENCH_READ] = command_bench_read,
    [COMMAND_BENCH_REPORT] = command_bench_report,
    [COMMAND_GET] = command_get,
    [COMMAND_RUN] = command_run,
    [COMMAND_CACHE_LS] = command_cache_list,
    [COMMAND_CACHE_RM] = command_cache_remove,
    [COMMAND_CACHE_PIN] = command_cache_pin,
    [COMMAND_CACHE_UNPIN] = command_cache_unpin,
    [COMMAND_CACHE_PRUNE] = command_cache_prune,
    [COMMAND_CACHE_PATHS] = command_cache_paths,
};

int main(int argc, char **argv)
{
    struct options options;
    struct error err = {0};
    int status;
    memset(&options, 0, sizeof options);
    if (options_parse(&options, argc, argv, &err) < 0 || interrupt_install(&err) < 0)
        return output_finish(&options, NULL, &err);
    log_open("mstore", options.verbose ? LOG_DEBUG : LOG_WARN);
    if (options.help || options.version) {
        options.help ? help_print(stdout, options.command) : help_print_version(stdout);
        status = output_finish(&options, NULL, &err);
    } else {
        status = commands[options.command](&options);
    }
    options_release(&options);
    return status;
}
