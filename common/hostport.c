/* HOST[:PORT] as users write it.
 *
 * An IPv6 address needs its brackets: "fe80::1:7420" could be read in two ways, so it is refused with
 * the right spelling rather than guessed. */
#include "common/hostport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"

static bool is_ipv4_text(const char *text)
{
    struct in_addr address;
    return inet_pton(AF_INET, text, &address) == 1;
}

/* An IPv6 address, perhaps with a zone: "fe80::1%eth0". */
static bool is_ipv6_text(const char *text)
{
    char bare[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "%");
    if (length >= sizeof bare || (text[length] == '%' && text[length + 1] == '\0'))
        return false;
    memcpy(bare, text, length);
    bare[length] = '\0';
    struct in6_addr address;
    return inet_pton(AF_INET6, bare, &address) == 1;
}

/* A name in the characters of DNS, or a whole IPv4 address: four numbers that are none would be asked
 * of the name server for nothing. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    if (text[strspn(text, "0123456789.")] == '\0')
        return is_ipv4_text(text);
    return text[0] != '-' && text[0] != '.' && text[strspn(text, allowed)] == '\0';
}

static int form_error(const char *text, struct error *err)
{
    if (is_ipv6_text(text))
        return error_set(err, ERROR_USAGE, "'%s' is IPv6 without brackets: write '[%s]'", text, text);
    if (text[0] == ':')
        return error_set(err, ERROR_USAGE, "'%s' has no host: write HOST:PORT, for instance '127.0.0.1%s'",
                         text, text);
    return error_set(err, ERROR_USAGE, "'%s' is not HOST[:PORT], for instance 'nas:7420' or '[fe80::1]:7420'",
                     text);
}

/* Takes `length` bytes as the host; false if that is too long. */
static bool take_host(struct hostport *hostport, const char *host, size_t length)
{
    if (length == 0 || length >= sizeof hostport->host)
        return false;
    memcpy(hostport->host, host, length);
    hostport->host[length] = '\0';
    return true;
}

static int take_port(struct hostport *hostport, const char *text, const char *port, struct error *err)
{
    uint64_t number;
    if (units_parse_number(port, 0, UINT16_MAX, &number, err) < 0)
        return error_set(err, ERROR_USAGE, "'%s' has no port from 0 to 65535 behind its colon", text);
    hostport->port = (uint16_t)number;
    return 0;
}

int hostport_parse(struct hostport *hostport, const char *text, uint16_t default_port, struct error *err)
{
    bool is_bracketed = text[0] == '[';
    const char *host = is_bracketed ? text + 1 : text;
    size_t length = strcspn(host, is_bracketed ? "]" : ":");
    const char *rest = host + length;
    if (is_bracketed) {
        if (*rest != ']')
            return form_error(text, err);
        rest++;
    }
    if ((*rest != '\0' && *rest != ':') || (!is_bracketed && strchr(rest, ':') != strrchr(rest, ':')))
        return form_error(text, err);
    if (!take_host(hostport, host, length))
        return form_error(text, err);
    if (is_bracketed ? !is_ipv6_text(hostport->host) : !is_name(hostport->host))
        return form_error(text, err);
    hostport->port = default_port;
    return *rest == ':' ? take_port(hostport, text, rest + 1, err) : 0;
}

char *hostport_format(char *buffer, const struct hostport *hostport)
{
    bool is_ipv6 = strchr(hostport->host, ':') != NULL;
    (void)snprintf(buffer, HOSTPORT_TEXT_MAX, "%s%s%s:%u", is_ipv6 ? "[" : "", hostport->host,
                   is_ipv6 ? "]" : "", (unsigned)hostport->port);
    return buffer;
}

static bool is_loopback_ipv4(const struct in_addr *address)
{
    return ntohl(address->s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_loopback_ipv6(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

bool hostport_is_loopback(const struct hostport *hostport)
{
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (inet_pton(AF_INET, hostport->host, &ipv4) == 1)
        return is_loopback_ipv4(&ipv4);
    if (inet_pton(AF_INET6, hostport->host, &ipv6) == 1)
        return is_loopback_ipv6(&ipv6);
    return strcasecmp(hostport->host, "localhost") == 0;
}

bool hostport_is_loopback_address(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return is_loopback_ipv4(&((const struct sockaddr_in *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return is_loopback_ipv6(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return false;
}
