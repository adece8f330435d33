/* The network interface by which this machine reaches another. Any thread. */
#ifndef CLIENT_NIC_H
#define CLIENT_NIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct nic {
    char name[IF_NAMESIZE];
    bool is_speed_known;
    uint64_t speed_mbit; /* as negotiated */
};

/* The interface with the address from which packets to `address` (numeric, IPv4 or IPv6) would leave. Nothing
 * is sent. False if there is no such way. */
bool nic_toward(const char *address, struct nic *nic);

#endif
