/* The names of the ways to write, in one list that parsing, --help and logs share. */
#include "common/io_mode.h"

#include "common/optparse.h"

const char *const io_mode_names[] = {
    [IO_AUTO] = "auto", [IO_BUFFERED] = "buffered", [IO_DIRECT] = "direct", NULL};

int io_mode_parse(const char *text, enum io_mode *mode, struct error *err)
{
    unsigned index;
    if (optparse_choice(io_mode_names, text, &index, err) < 0)
        return -1;
    *mode = (enum io_mode)index;
    return 0;
}
