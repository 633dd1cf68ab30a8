// The part of Python's C API that the eager hook uses, looked up at run time. So the build needs no Python headers, and
// one library serves every Python from 3.10 on. If a function is missing, the hook written in Python takes over.
#pragma once
#include <dlfcn.h>

#include <cstdint>

namespace sleuth::py {

struct Object;
using Size = intptr_t;
using FastCall = Object* (*)(Object* self, Object* const* args, Size count);

struct Buffer {  // Py_buffer
  void* buf;
  Object* obj;
  Size len, itemsize;
  int readonly, ndim;
  char* format;
  Size *shape, *strides, *suboffsets;
  void* internal;
};

struct MethodDef {  // PyMethodDef
  const char* name;
  FastCall method;
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x80;  // METH_FASTCALL
constexpr int kStrided = 0x18;   // PyBUF_STRIDES | PyBUF_ND

#define SLEUTH_PYTHON_API(X)                                                        \
  X(Object*, PyEval_GetFrame, ())                                                   \
  X(Object*, PyFrame_GetBack, (Object*))                                            \
  X(Object*, PyFrame_GetCode, (Object*))                                            \
  X(int, PyFrame_GetLineNumber, (Object*))                                          \
  X(void, Py_IncRef, (Object*))                                                     \
  X(void, Py_DecRef, (Object*))                                                     \
  X(Object*, PyObject_Vectorcall, (Object*, Object* const*, size_t, Object*))       \
  X(Object*, PyObject_VectorcallMethod, (Object*, Object* const*, size_t, Object*)) \
  X(Object*, PyObject_GetAttr, (Object*, Object*))                                  \
  X(Object*, PyObject_Type, (Object*))                                              \
  X(void*, PyType_GetSlot, (Object*, int))                                          \
  X(int, PyObject_GetBuffer, (Object*, Buffer*, int))                               \
  X(void, PyBuffer_Release, (Buffer*))                                              \
  X(unsigned long long, PyLong_AsUnsignedLongLong, (Object*))                       \
  X(Object*, PyLong_FromUnsignedLongLong, (unsigned long long))                     \
  X(Object*, PyTuple_New, (Size))                                                   \
  X(int, PyTuple_SetItem, (Object*, Size, Object*))                                 \
  X(Object*, PyTuple_GetItem, (Object*, Size))                                      \
  X(Size, PyTuple_Size, (Object*))                                                  \
  X(Object*, PyList_GetItem, (Object*, Size))                                       \
  X(Size, PyList_Size, (Object*))                                                   \
  X(char*, PyBytes_AsString, (Object*))                                             \
  X(int, PySet_Contains, (Object*, Object*))                                        \
  X(int, PyObject_IsTrue, (Object*))                                                \
  X(void, PyErr_Clear, ())                                                          \
  X(int, PyErr_CheckSignals, ())                                                    \
  X(void, PyErr_Fetch, (Object**, Object**, Object**))                              \
  X(void, PyErr_Restore, (Object*, Object*, Object*))                               \
  X(void, PyErr_NormalizeException, (Object**, Object**, Object**))                 \
  X(int, PyException_SetTraceback, (Object*, Object*))                              \
  X(Object*, PyUnicode_InternFromString, (const char*))                             \
  X(Object*, PyCFunction_NewEx, (MethodDef*, Object*, Object*))                     \
  X(Object*, PyWeakref_NewRef, (Object*, Object*))

#define SLEUTH_DECLARE(result, name, arguments) inline result(*name) arguments = nullptr;
SLEUTH_PYTHON_API(SLEUTH_DECLARE)
#undef SLEUTH_DECLARE
inline Object* None = nullptr;
inline int (*PyFrame_GetLasti)(Object*) = nullptr;  // from 3.11 on; before, the line number is used

inline bool find_all() {
  bool all = true;
#define SLEUTH_FIND(result, name, arguments) \
  all &= (name = reinterpret_cast<result(*) arguments>(dlsym(RTLD_DEFAULT, #name))) != nullptr;
  SLEUTH_PYTHON_API(SLEUTH_FIND)
#undef SLEUTH_FIND
  None = static_cast<Object*>(dlsym(RTLD_DEFAULT, "_Py_NoneStruct"));
  PyFrame_GetLasti = reinterpret_cast<int (*)(Object*)>(dlsym(RTLD_DEFAULT, "PyFrame_GetLasti"));
  return all && None;
}

}  // namespace sleuth::py
