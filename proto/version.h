/* The version of the programs, and of the protocol of docs/protocol.md that they speak. */
#ifndef PROTO_VERSION_H
#define PROTO_VERSION_H

#define MSTORE_VERSION   "0.1.0"
#define PROTOCOL_VERSION 1

#endif
