/* One small request: which version of a model has the server? On the loop's thread. */
#ifndef CLIENT_CACHE_ASK_H
#define CLIENT_CACHE_ASK_H

#include "client/cache_record.h"
#include "client/options.h"

/* Connects, asks, and closes. ERROR_CONNECT and ERROR_LOST where the server is away. */
int cache_ask(const struct options *options, const char *model, struct cache_version *version,
              struct error *err);

#endif
