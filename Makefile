# make            the release binary: libraries linked statically, libc shared
# make help       the other targets

CC ?= gcc
BUILD ?= build/release
CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wformat=2 -Wundef -Werror
CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Ilib -Icmd
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(CFLAGS) -pthread

LIBRARY_SOURCES := $(wildcard lib/*/*.c)
COMMAND_SOURCES := $(wildcard cmd/*.c)
LIBRARY_OBJECTS = $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o)
COMMAND_OBJECTS = $(COMMAND_SOURCES:%.c=$(BUILD)/%.o)

LIBS = -l:libsqlite3.a -lm -ldl -pthread

all: $(BUILD)/shardbox

$(BUILD)/shardbox: $(COMMAND_OBJECTS) $(LIBRARY_OBJECTS)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

clean:
	rm -rf build

-include $(LIBRARY_OBJECTS:.o=.d) $(COMMAND_OBJECTS:.o=.d)

.PHONY: all clean
