/* The client's command line: arguments with a NUL behind each. */
#include "target.h"

#include "client/options.h"

#define MOST 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1), *argv[MOST + 2] = {(char *)"mstore"};
    struct options options;
    struct error err;
    int argc = 1;
    must_hold(text);
    memcpy(text, bytes, length);
    text[length] = '\0';
    for (size_t at = 0; at < length && argc <= MOST; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    (void)clearenv();
    if (options_parse(&options, argc, argv, &err) == 0) {
        must_hold(options.help || options.version || options.command != COMMAND_NONE);
        must_hold(options.streams >= 1 && options.streams <= 64);
        options_release(&options);
    } else {
        must_hold(err.code == ERROR_USAGE || err.code == ERROR_FAILED);
    }
    free(text);
    return 0;
}
