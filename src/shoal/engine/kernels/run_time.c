/* What surrounds the kernels in the library that is compiled ahead: a call from Python, and counted memory.

A kernel takes one list of 64-bit numbers (`slots`): for an array its address and its shape, else the number itself.
`shoal_run` fills the slots from the arguments of a Python call. It uses only functions of Python's stable interface
(3.11 and later), declared here so that the build needs no header of Python and serves every version. */
#include <stdint.h>
#include <stdlib.h>

typedef void Object;
typedef struct {
    void *data;
    Object *owner;
    intptr_t length, itemsize;
    int readonly, dimensions;
    char *format;
    intptr_t *shape, *strides, *suboffsets;
    void *internal;
} Buffer;

extern int PyObject_GetBuffer(Object *, Buffer *, int);
extern void PyBuffer_Release(Buffer *);
extern intptr_t PyTuple_Size(Object *);
extern Object *PyTuple_GetItem(Object *, intptr_t);
extern Object *PyNumber_Index(Object *);
extern long long PyLong_AsLongLong(Object *);
extern unsigned long long PyLong_AsUnsignedLongLong(Object *);
extern double PyFloat_AsDouble(Object *);
extern int PyObject_IsTrue(Object *);
extern Object *PyErr_Occurred(void);
extern void PyErr_Clear(void);
extern void Py_DecRef(Object *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);

enum { ARRAY, SIGNED, UNSIGNED, REAL, TRUTH, TUPLE };
enum { WRITABLE_C_CONTIGUOUS_WITH_FORMAT = 0x3D };
enum { WRONG_ARGUMENT = -100 };

/* kind and size: of an array's numbers. count: an array's dimensions, a tuple's members. */
typedef struct { int32_t what, kind, size, count; } Part;
/* A kernel's pickled exception, as Numba writes it. */
typedef struct { const char *pickled; int32_t length; } Exception;
typedef int32_t Kernel(void **result, Exception **exception, int64_t *slots);
typedef struct { Kernel *kernel; int32_t arguments, arrays; Part parts[]; } Plan;
typedef struct { const Part *part; int64_t *slot; Buffer *buffer; } Place;

static int kind_of(const char *format) {
    char c = format ? *format : 'B';
    if (c == '@' || c == '=' || c == '<') c = format[1];
    switch (c) {
    case 'b': case 'h': case 'i': case 'l': case 'q': return 'i';
    case 'B': case 'H': case 'I': case 'L': case 'Q': return 'u';
    case 'f': case 'd': return 'f';
    case '?': return 'b';
    }
    return 0;
}

static int take_array(Place *at, Object *object) {
    const Part *part = at->part;
    Buffer *buffer = at->buffer;
    if (PyObject_GetBuffer(object, buffer, WRITABLE_C_CONTIGUOUS_WITH_FORMAT)) return 0;
    at->buffer++;
    if (buffer->dimensions != part->count || buffer->itemsize != part->size || kind_of(buffer->format) != part->kind)
        return 0;
    *at->slot++ = (int64_t)(intptr_t)buffer->data;
    for (int i = 0; i < part->count; i++) *at->slot++ = buffer->shape[i];
    return 1;
}

static int take_number(Place *at, Object *object) {
    union { int64_t whole; double real; } value = {0};
    if (at->part->what == REAL) value.real = PyFloat_AsDouble(object);
    else if (at->part->what == TRUTH) value.whole = PyObject_IsTrue(object);
    else {
        Object *index = PyNumber_Index(object);
        if (!index) return 0;
        value.whole = at->part->what == SIGNED ? PyLong_AsLongLong(index) : (int64_t)PyLong_AsUnsignedLongLong(index);
        Py_DecRef(index);
    }
    *at->slot++ = value.whole;
    return !PyErr_Occurred();
}

/* Fill the slots from an argument; at->part is then the next part, or the one that does not fit. */
static int take(Place *at, Object *object) {
    if (at->part->what != TUPLE) {
        int fits = at->part->what == ARRAY ? take_array(at, object) : take_number(at, object);
        at->part += fits;
        return fits;
    }
    int32_t members = at->part->count;
    if (PyTuple_Size(object) != members) return 0;
    at->part++;
    for (int32_t i = 0; i < members; i++)
        if (!take(at, PyTuple_GetItem(object, i))) return 0;
    return 1;
}

/* Call a kernel without the interpreter's lock; gives its status. slots[0]: which part does not fit, or an exception. */
int32_t shoal_run(Object *arguments, const Plan *plan, int64_t *slots) {
    Buffer buffers[plan->arrays + 1];
    Place at = {plan->parts, slots, buffers};
    int32_t status = 0;
    for (int32_t i = 0; i < plan->arguments && !status; i++)
        if (!take(&at, PyTuple_GetItem(arguments, i))) status = WRONG_ARGUMENT;
    if (status) {
        PyErr_Clear();
        slots[0] = at.part - plan->parts;
    } else {
        void *result = 0, *thread = PyEval_SaveThread();
        Exception *exception = 0;
        status = plan->kernel(&result, &exception, slots);
        PyEval_RestoreThread(thread);
        if (status > 0) {
            slots[0] = (int64_t)(intptr_t)exception->pickled;
            slots[1] = exception->length;
        }
    }
    while (at.buffer > buffers) PyBuffer_Release(--at.buffer);
    return status;
}

/* The newest level of x86-64 of which the library has code and that this processor has; 0 for none. */
int32_t shoal_level(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v3") ? 3 : __builtin_cpu_supports("x86-64-v2") ? 2 : 0;
}

/* Memory with a count of references, laid out as Numba's code expects it. */
typedef struct {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *destroy_with, *data;
    size_t size;
    void *external;
} Memory;

static Memory *allocate(size_t size, size_t alignment) {
    if (size > SIZE_MAX / 2) return 0;
    Memory *memory = malloc(sizeof(Memory) + size + alignment);
    if (!memory) return 0;
    uintptr_t first = (uintptr_t)(memory + 1);
    *memory = (Memory){.references = 1, .data = (void *)((first + alignment - 1) / alignment * alignment), .size = size};
    return memory;
}

Memory *NRT_MemInfo_alloc(size_t size) { return allocate(size, 16); }
Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) { return allocate(size, alignment ? alignment : 16); }
Memory *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned alignment) { return NRT_MemInfo_alloc_aligned(size, alignment); }
void *NRT_MemInfo_data_fast(Memory *memory) { return memory->data; }

void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *memory) { free(memory); }

void NRT_MemInfo_call_dtor(Memory *memory) {
    if (memory->destroy) memory->destroy(memory->data, memory->size, memory->destroy_with);
    free(memory);
}

void shoal_release(Memory *memory) {
    if (memory && __atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(memory);
}

static void destroy_list(void *data, size_t size, void *destroy_items) {
    if (destroy_items) ((void (*)(void *, size_t, void *))destroy_items)(data, size, 0);
    free(data);
}

/* A list's memory, which could be given another size; sorting keeps its open ranges in one. */
Memory *NRT_MemInfo_new_varsize_dtor(size_t size, void *destroy_items) {
    Memory *memory = malloc(sizeof(Memory));
    void *data = malloc(size);
    if (!memory || !data) {
        free(memory);
        free(data);
        return 0;
    }
    *memory = (Memory){1, destroy_list, destroy_items, data, size, 0};
    return memory;
}

void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size) {
    void *data = realloc(memory->data, size);
    if (data) {
        memory->data = data;
        memory->size = size;
    }
    return data;
}

/* The strides of an array in another shape without a copy; 0 if that cannot be, or is not sure: its rows lie apart. */
int numba_attempt_nocopy_reshape(intptr_t dimensions, const intptr_t *shape, const intptr_t *strides,
                                 intptr_t new_dimensions, const intptr_t *new_shape, intptr_t *new_strides,
                                 intptr_t itemsize, int by_columns) {
    intptr_t step = itemsize;
    for (intptr_t i = dimensions - 1; i >= 0; step *= shape[i--])
        if (shape[i] != 1 && strides[i] != step) return 0;
    if (by_columns) return 0;
    step = itemsize;
    for (intptr_t i = new_dimensions - 1; i >= 0; step *= new_shape[i--]) new_strides[i] = step;
    return 1;
}
