/* Keeps heartbeats under way on connections to 127.0.0.1 and counts their answers: bench.server's load client.

       server_load PORT SECONDS UNDER_WAY

   Standard input: the answer that each heartbeat must have, then a request for each connection, as lines of
   hexadecimal digits, lengths included. Every answer is followed by the next request. Prints the answers and the
   seconds that they took. Ends with 1 where an answer differs, and by itself ten seconds after its time. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_CONNECTIONS 64
#define MOST_BYTES 4096

struct connection {
    int socket;
    unsigned char *burst; /* as many requests as are under way */
    size_t request;       /* bytes of one */
    size_t matched;       /* bytes that have come of the answer that is coming */
};

static unsigned char answer[MOST_BYTES];
static size_t answer_bytes;

static void fail(const char *what)
{
    fprintf(stderr, "server_load: %s: %s\n", what, errno ? strerror(errno) : "that cannot be");
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* The bytes of a line of digits; 0 at the end of the input. */
static size_t read_line(unsigned char *bytes)
{
    static char line[2 * MOST_BYTES + 2];
    size_t count = 0;
    if (fgets(line, sizeof line, stdin) == NULL)
        return 0;
    while (count < MOST_BYTES && sscanf(line + 2 * count, "%2hhx", bytes + count) == 1)
        count++;
    if (count == 0)
        fail("an empty line");
    return count;
}

static int connected(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1, made = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || connect(made, (struct sockaddr *)&address, sizeof address) < 0)
        fail("connect");
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return made;
}

static void send_requests(struct connection *one, size_t count)
{
    size_t sent = 0, bytes = count * one->request;
    while (sent < bytes) {
        ssize_t part = send(one->socket, one->burst + sent, bytes - sent, MSG_NOSIGNAL);
        if (part < 0)
            fail("send");
        sent += part;
    }
}

/* Takes what has come; returns how many answers are complete. */
static size_t take_answers(struct connection *one)
{
    static unsigned char bytes[1 << 16];
    size_t done = 0;
    ssize_t count = recv(one->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0)
        fail("recv");
    for (ssize_t at = 0; at < count;) {
        size_t left = answer_bytes - one->matched, part = (size_t)(count - at) < left ? (size_t)(count - at) : left;
        errno = 0;
        if (memcmp(bytes + at, answer + one->matched, part) != 0)
            fail("another answer");
        at += part;
        one->matched = (one->matched + part) % answer_bytes;
        done += one->matched == 0;
    }
    return done;
}

int main(int count, char **words)
{
    struct connection all[MOST_CONNECTIONS];
    struct epoll_event events[MOST_CONNECTIONS];
    unsigned char request[MOST_BYTES];
    size_t connections = 0, under_way, bytes, answers = 0;
    int watched = epoll_create1(0);
    double begun, end;

    if (count != 4)
        fail("needs PORT SECONDS UNDER_WAY");
    alarm((unsigned)atof(words[2]) + 10);
    under_way = strtoul(words[3], NULL, 10);
    answer_bytes = read_line(answer);
    while (connections < MOST_CONNECTIONS && (bytes = read_line(request)) > 0) {
        struct connection *one = &all[connections];
        struct epoll_event wanted = {.events = EPOLLIN, .data.u32 = connections++};
        *one = (struct connection){connected(atoi(words[1])), malloc(under_way * bytes), bytes, 0};
        for (size_t each = 0; each < under_way; each++)
            memcpy(one->burst + each * bytes, request, bytes);
        epoll_ctl(watched, EPOLL_CTL_ADD, one->socket, &wanted);
    }
    begun = now();
    end = begun + atof(words[2]);
    for (size_t each = 0; each < connections; each++)
        send_requests(&all[each], under_way);
    while (now() < end) {
        int ready = epoll_wait(watched, events, MOST_CONNECTIONS, 100);
        for (int each = 0; each < ready; each++) {
            struct connection *one = &all[events[each].data.u32];
            size_t done = take_answers(one);
            answers += done;
            send_requests(one, done);
        }
    }
    printf("%zu %.6f\n", answers, now() - begun);
    return 0;
}
