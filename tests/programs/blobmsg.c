/* blobmsg as OpenWrt's own libubox reads and writes it, for `stationd::ubus::libubox`. Each line of its input is a question
 * and is answered with a line: `read BYTES` with what is in the contents of a table, or `refused`; `write ATTRIBUTES`
 * with the contents that libubox makes of them.
 *
 * An attribute is its type's number, its name, and its value: a number, the bits of a double, a text, bytes for null,
 * attributes and `)` for a table or list. Bytes, names and texts are an `x` and hexadecimal digits. What libubox passes over
 * without a word is `bare` (an attribute that can have no name) and `rest` (bytes at the end). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobmsg.h"

static void put_hex(const void *bytes, size_t length) {
    const unsigned char *all = bytes;
    putchar('x');
    for (size_t at = 0; at < length; at++) printf("%02x", all[at]);
}

/* The bytes of a word, with a NUL behind them. */
static char *of_hex(const char *word, size_t *length) {
    *length = strlen(word) / 2;
    char *bytes = calloc(1, *length + 1);
    for (size_t at = 0; at < *length; at++) {
        char digits[3] = {word[2 * at + 1], word[2 * at + 2], 0};
        bytes[at] = (char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

/* Attributes are looked at as `blobmsg_parse` looks at them; nothing is printed before all are known to be good. */
static bool are_good(void *data, size_t length) {
    struct blob_attr *attr;
    __blob_for_each_attr(attr, data, length) {
        if (!blobmsg_check_attr_len(attr, false, length)) return false;
        int type = blobmsg_type(attr);
        bool nested = type == BLOBMSG_TYPE_TABLE || type == BLOBMSG_TYPE_ARRAY;
        if (nested && blob_is_extended(attr) && !are_good(blobmsg_data(attr), blobmsg_len(attr))) return false;
    }
    return true;
}

static void put_all(void *data, size_t length) {
    struct blob_attr *attr;
    uint64_t bits;
    double number;
    __blob_for_each_attr(attr, data, length) {
        if (!blob_is_extended(attr)) {
            printf("bare ");
            continue;
        }
        const struct blobmsg_hdr *head = blob_data(attr);
        printf("%d ", blobmsg_type(attr));
        put_hex(head->name, blobmsg_namelen(head));
        putchar(' ');
        switch (blobmsg_type(attr)) {
        case BLOBMSG_TYPE_TABLE:
        case BLOBMSG_TYPE_ARRAY:
            put_all(blobmsg_data(attr), blobmsg_len(attr));
            printf(") ");
            break;
        case BLOBMSG_TYPE_STRING:
            put_hex(blobmsg_get_string(attr), strlen(blobmsg_get_string(attr)));
            putchar(' ');
            break;
        case BLOBMSG_TYPE_UNSPEC:
            put_hex(blobmsg_data(attr), blobmsg_len(attr));
            putchar(' ');
            break;
        case BLOBMSG_TYPE_INT8: printf("%d ", (int8_t)blobmsg_get_u8(attr)); break;
        case BLOBMSG_TYPE_INT16: printf("%d ", (int16_t)blobmsg_get_u16(attr)); break;
        case BLOBMSG_TYPE_INT32: printf("%" PRId32 " ", (int32_t)blobmsg_get_u32(attr)); break;
        case BLOBMSG_TYPE_INT64: printf("%" PRId64 " ", (int64_t)blobmsg_get_u64(attr)); break;
        case BLOBMSG_TYPE_DOUBLE:
            number = blobmsg_get_double(attr);
            memcpy(&bits, &number, sizeof bits);
            printf("%" PRIu64 " ", bits);
            break;
        }
    }
    if (length > 0) printf("rest ");
}

static void add_number(struct blob_buf *out, int type, const char *name, uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    switch (type) {
    case BLOBMSG_TYPE_INT8: blobmsg_add_u8(out, name, (uint8_t)bits); break;
    case BLOBMSG_TYPE_INT16: blobmsg_add_u16(out, name, (uint16_t)bits); break;
    case BLOBMSG_TYPE_INT32: blobmsg_add_u32(out, name, (uint32_t)bits); break;
    case BLOBMSG_TYPE_INT64: blobmsg_add_u64(out, name, bits); break;
    case BLOBMSG_TYPE_DOUBLE: blobmsg_add_double(out, name, number); break;
    }
}

/* Up to the `)` that ends the table, or to the end. */
static void add_all(struct blob_buf *out, char **words) {
    for (const char *word; (word = strtok_r(NULL, " ", words)) && *word != ')';) {
        int type = atoi(word);
        size_t length;
        char *name = of_hex(strtok_r(NULL, " ", words), &length);
        if (type == BLOBMSG_TYPE_TABLE || type == BLOBMSG_TYPE_ARRAY) {
            void *cookie = blobmsg_open_nested(out, name, type == BLOBMSG_TYPE_ARRAY);
            add_all(out, words);
            blob_nest_end(out, cookie);
        } else {
            const char *value = strtok_r(NULL, " ", words);
            if (type == BLOBMSG_TYPE_UNSPEC || type == BLOBMSG_TYPE_STRING) {
                char *bytes = of_hex(value, &length);
                if (type == BLOBMSG_TYPE_STRING)
                    blobmsg_add_string(out, name, bytes);
                else
                    blobmsg_add_field(out, type, name, bytes, length);
                free(bytes);
            } else
                add_number(out, type, name, strtoull(value, NULL, 10));
        }
        free(name);
    }
}

int main(void) {
    static struct blob_buf out;
    char *line = NULL, *words;
    size_t room = 0, length;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        const char *asked = strtok_r(line, " ", &words);
        if (strcmp(asked, "write") == 0) {
            blob_buf_init(&out, 0);
            add_all(&out, &words);
            put_hex(blob_data(out.head), blob_len(out.head));
        } else {
            char *bytes = of_hex(strtok_r(NULL, " ", &words), &length);
            if (are_good(bytes, length))
                put_all(bytes, length);
            else
                printf("refused");
            free(bytes);
        }
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
