// The part of TensorFlow's stable C kernel ABI that we use, declared here so that the build needs no TensorFlow:
// tensorflow/c/{kernels,ops,tf_status,tf_tensor}.h, unchanged from 2.15 to 2.21.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
struct TF_Status;
struct TF_Tensor;
struct TF_OpDefinitionBuilder;
struct TF_KernelBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_ShapeInferenceContext;
struct TF_ShapeHandle;

TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status*);
int TF_GetCode(const TF_Status*);
void TF_SetStatus(TF_Status*, int code, const char* message);

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder*, bool);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*)(TF_ShapeInferenceContext*, TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);
TF_ShapeHandle* TF_NewShapeHandle();
void TF_DeleteShapeHandle(TF_ShapeHandle*);
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext*, TF_Status*);
void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*);
void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*);

TF_KernelBuilder* TF_NewKernelBuilder(const char* op, const char* device, void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*), void (*destroy)(void*));
void TF_RegisterKernelBuilder(const char* name, TF_KernelBuilder*, TF_Status*);
void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction*, const char*, int64_t*, TF_Status*);
void TF_OpKernelConstruction_GetAttrTypeList(TF_OpKernelConstruction*, const char*, int*, int most, TF_Status*);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction*, TF_Status*);

int TF_NumInputs(TF_OpKernelContext*);
void TF_GetInput(TF_OpKernelContext*, int, TF_Tensor**, TF_Status*);
void TF_SetOutput(TF_OpKernelContext*, int, const TF_Tensor*, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int, int dtype, const int64_t* dims, int rank, size_t bytes,
                             TF_Status*);
void TF_OpKernelContext_Failure(TF_OpKernelContext*, TF_Status*);
int64_t TF_StepId(TF_OpKernelContext*);
uint64_t TF_GetFrameId(TF_OpKernelContext*);
int64_t TF_GetIterId(TF_OpKernelContext*);

void TF_DeleteTensor(TF_Tensor*);
int TF_TensorType(const TF_Tensor*);
int TF_NumDims(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int);
int64_t TF_TensorElementCount(const TF_Tensor*);
size_t TF_TensorByteSize(const TF_Tensor*);
void* TF_TensorData(const TF_Tensor*);
}
