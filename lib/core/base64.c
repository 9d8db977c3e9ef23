#include "core/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#define KNOWN               0x40
#define V(character, value) [character] = KNOWN | (value)

/* The value of each character; 0 for one outside the alphabet. */
static const uint8_t values[256] = {
    V('A', 0),  V('B', 1),  V('C', 2),  V('D', 3),  V('E', 4),  V('F', 5),  V('G', 6),  V('H', 7),
    V('I', 8),  V('J', 9),  V('K', 10), V('L', 11), V('M', 12), V('N', 13), V('O', 14), V('P', 15),
    V('Q', 16), V('R', 17), V('S', 18), V('T', 19), V('U', 20), V('V', 21), V('W', 22), V('X', 23),
    V('Y', 24), V('Z', 25), V('a', 26), V('b', 27), V('c', 28), V('d', 29), V('e', 30), V('f', 31),
    V('g', 32), V('h', 33), V('i', 34), V('j', 35), V('k', 36), V('l', 37), V('m', 38), V('n', 39),
    V('o', 40), V('p', 41), V('q', 42), V('r', 43), V('s', 44), V('t', 45), V('u', 46), V('v', 47),
    V('w', 48), V('x', 49), V('y', 50), V('z', 51), V('0', 52), V('1', 53), V('2', 54), V('3', 55),
    V('4', 56), V('5', 57), V('6', 58), V('7', 59), V('8', 60), V('9', 61), V('+', 62), V('/', 63),
};

static char *put_four(char *out, uint32_t bits)
{
    out[0] = alphabet[bits >> 18];
    out[1] = alphabet[bits >> 12 & 63];
    out[2] = alphabet[bits >> 6 & 63];
    out[3] = alphabet[bits & 63];
    return out + 4;
}

size_t sb_base64_encode(struct sb_base64 *state, const void *data, size_t size, char *out)
{
    const uint8_t *at = data, *end = at + size;
    char *to = out;

    while (state->held > 0 && at < end) {
        state->bits = state->bits << 8 | *at++;
        if (++state->held == 3) {
            to = put_four(to, state->bits);
            *state = (struct sb_base64){0};
        }
    }
    for (; end - at >= 3; at += 3)
        to = put_four(to, (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2]);
    for (; at < end; state->held++)
        state->bits = state->bits << 8 | *at++;
    return (size_t)(to - out);
}

size_t sb_base64_encode_end(struct sb_base64 *state, char *out)
{
    unsigned held = state->held;

    if (held == 0)
        return 0;
    put_four(out, state->bits << (24 - 8 * held));
    out[3] = '=';
    if (held == 1)
        out[2] = '=';
    *state = (struct sb_base64){0};
    return 4;
}

static uint8_t *put_three(uint8_t *out, uint32_t bits)
{
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return out + 3;
}

/* A character that does not complete a group of four, or that is outside the alphabet. */
static bool take_character(struct sb_base64 *state, char c, uint8_t **to)
{
    uint8_t value = values[(uint8_t)c];

    if (c == '=') {
        state->padding++;
        return state->held >= 2 && state->held + state->padding <= 4;
    }
    if (!value || state->padding > 0)
        return false;
    state->bits = state->bits << 6 | (value & 63u);
    if (++state->held == 4) {
        *to = put_three(*to, state->bits);
        *state = (struct sb_base64){0};
    }
    return true;
}

bool sb_base64_decode(struct sb_base64 *state, const char *text, size_t size, void *out,
                      size_t *made)
{
    const char *end = text + size;
    uint8_t *to = out;
    bool good = true;

    while (good && text < end) {
        while (state->held == 0 && state->padding == 0 && end - text >= 4) {
            uint8_t a = values[(uint8_t)text[0]], b = values[(uint8_t)text[1]];
            uint8_t c = values[(uint8_t)text[2]], d = values[(uint8_t)text[3]];

            if (!(a & b & c & d & KNOWN))
                break;
            to = put_three(to, (a & 63u) << 18 | (b & 63u) << 12 | (c & 63u) << 6 | (d & 63u));
            text += 4;
        }
        if (text < end)
            good = take_character(state, *text++, &to);
    }
    *made = (size_t)(to - (uint8_t *)out);
    return good;
}

bool sb_base64_decode_end(struct sb_base64 *state, void *out, size_t *made)
{
    uint8_t *to = out;
    unsigned held = state->held;
    uint32_t bits = held > 0 ? state->bits << (24 - 6 * held) : 0;

    *made = held > 0 ? held - 1 : 0;
    if (held == 1 || (state->padding > 0 && held + state->padding != 4))
        return false;
    for (size_t i = 0; i < *made; i++, bits <<= 8)
        *to++ = (uint8_t)(bits >> 16);
    *state = (struct sb_base64){0};
    return (bits & 0xffffff) == 0;
}
