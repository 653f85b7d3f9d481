/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that came from outside on their way into JSON and logs. */
#ifndef CONTROLLER_TEXT_H
#define CONTROLLER_TEXT_H

/* Replaces what is not printable ASCII by '?', so that a text that was cut or
 * quotes foreign bytes is valid UTF-8 and one line. Returns `text`. */
static inline char *
text_make_printable(char *text)
{
    for (unsigned char *p = (unsigned char *) text; *p; p++) {
        if (*p < ' ' || *p > '~') {
            *p = '?';
        }
    }
    return text;
}

#endif
