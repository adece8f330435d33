/* Names that come from a peer or a user: model ids and paths inside a model (docs/protocol.md, section 1).
 *
 * Pure checks on bytes; they touch no file system. A receiver calls them before anything else. */
#ifndef PROTO_NAME_H
#define PROTO_NAME_H

#include <stdbool.h>

/* `<namespace>/<model>` by the Hub's rules. */
bool name_is_model_id(const char *s);

/* One part of a model id; `length` bytes, not necessarily ended by NUL. */
bool name_is_id_part(const char *s, unsigned long length);

/* A relative path without empty, `.` and `..` parts, with every part and the whole within limits, whose
 * first part is not `.mstore`. */
bool name_is_path(const char *s);

/* Where a model comes from, as a plan says it: 1 to LIMIT_ORIGIN visible ASCII characters without `"` and
 * `\`. */
bool name_is_origin(const char *s);

#endif
