/* The client's command line: arguments with a NUL behind each. */
#include "target.h"

#include "client/options.h"
#include "proto/name.h"

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
        bool runs = !options.help && !options.version;
        must_hold(!options.file || name_is_path(options.file));
        must_hold(!runs || options.command != COMMAND_PUSH || name_is_model_id(options.arguments.items[1]));
        must_hold(!runs || options.command != COMMAND_PULL || name_is_model_id(options.arguments.items[0]));
        must_hold(!runs || options.command != COMMAND_PULL ||
                  options.arguments.count == (options.layout == LAYOUT_FOLDER ? 2 : 1));
        options_release(&options);
    } else {
        must_hold(err.code == ERROR_USAGE || err.code == ERROR_FAILED);
    }
    free(text);
    return 0;
}
