package test

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ client.Client = &MockClient{}

// A MockClient is a client.Client for tests. Each method calls the function in one field of the MockClient. A nil
// function does nothing and returns nil, so the zero value is ready to use. Set the functions before the client is used
// concurrently.
//
// Patches are special, because the runtime only sends patches, while tests often check the resulting object. If
// MockPatch is nil, Patch calls MockUpdate with a copy of the object, which is the full desired object. The object
// itself then stays unchanged, including its resourceVersion. In the same way, MockStatusPatch falls back to
// MockStatusUpdate, and MockSubResourcePatch to MockSubResourceUpdate.
type MockClient struct {
	MockGet         MockGetFn
	MockList        MockListFn
	MockCreate      MockCreateFn
	MockDelete      MockDeleteFn
	MockDeleteAllOf MockDeleteAllOfFn
	MockUpdate      MockUpdateFn
	MockPatch       MockPatchFn
	MockApply       MockApplyFn

	MockStatusCreate MockSubResourceCreateFn
	MockStatusUpdate MockSubResourceUpdateFn
	MockStatusPatch  MockSubResourcePatchFn
	MockStatusApply  MockSubResourceApplyFn

	MockSubResourceGet    MockSubResourceGetFn
	MockSubResourceCreate MockSubResourceCreateFn
	MockSubResourceUpdate MockSubResourceUpdateFn
	MockSubResourcePatch  MockSubResourcePatchFn
	MockSubResourceApply  MockSubResourceApplyFn

	MockScheme              MockSchemeFn
	MockGroupVersionKindFor MockGroupVersionKindForFn
	MockIsObjectNamespaced  MockIsObjectNamespacedFn
}

// NewMockClient returns a client whose calls do nothing and return nil. Its patch functions are nil, so a patch calls
// the update function.
func NewMockClient() *MockClient {
	return &MockClient{
		MockGet:         NewMockGetFn(nil),
		MockList:        NewMockListFn(nil),
		MockCreate:      NewMockCreateFn(nil),
		MockDelete:      NewMockDeleteFn(nil),
		MockDeleteAllOf: NewMockDeleteAllOfFn(nil),
		MockUpdate:      NewMockUpdateFn(nil),

		MockStatusCreate: NewMockSubResourceCreateFn(nil),
		MockStatusUpdate: NewMockSubResourceUpdateFn(nil),

		MockSubResourceCreate: NewMockSubResourceCreateFn(nil),
		MockSubResourceUpdate: NewMockSubResourceUpdateFn(nil),

		MockScheme:              NewMockSchemeFn(nil),
		MockGroupVersionKindFor: NewMockGroupVersionKindForFn(nil, schema.GroupVersionKind{}),
		MockIsObjectNamespaced:  NewMockIsObjectNamespacedFn(nil, false),
	}
}

// Get calls MockGet.
func (c *MockClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.MockGet == nil {
		return nil
	}

	return c.MockGet(ctx, key, obj)
}

// List calls MockList.
func (c *MockClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if c.MockList == nil {
		return nil
	}

	return c.MockList(ctx, list, opts...)
}

// Create calls MockCreate.
func (c *MockClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if c.MockCreate == nil {
		return nil
	}

	return c.MockCreate(ctx, obj, opts...)
}

// Delete calls MockDelete.
func (c *MockClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if c.MockDelete == nil {
		return nil
	}

	return c.MockDelete(ctx, obj, opts...)
}

// DeleteAllOf calls MockDeleteAllOf.
func (c *MockClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if c.MockDeleteAllOf == nil {
		return nil
	}

	return c.MockDeleteAllOf(ctx, obj, opts...)
}

// Update calls MockUpdate.
func (c *MockClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if c.MockUpdate == nil {
		return nil
	}

	return c.MockUpdate(ctx, obj, opts...)
}

// Patch calls MockPatch or, if that is nil, MockUpdate with a copy of obj.
func (c *MockClient) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	switch {
	case c.MockPatch != nil:
		return c.MockPatch(ctx, obj, patch, opts...)
	case c.MockUpdate != nil:
		return c.MockUpdate(ctx, duplicate(obj))
	default:
		return nil
	}
}

// Apply calls MockApply.
func (c *MockClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if c.MockApply == nil {
		return nil
	}

	return c.MockApply(ctx, obj, opts...)
}

// Status returns a client that calls the MockStatus functions.
func (c *MockClient) Status() client.SubResourceWriter {
	return &MockSubResourceClient{
		MockCreate: c.MockStatusCreate,
		MockUpdate: c.MockStatusUpdate,
		MockPatch:  c.MockStatusPatch,
		MockApply:  c.MockStatusApply,
	}
}

// SubResource returns a client that calls the MockSubResource functions for every subresource.
func (c *MockClient) SubResource(_ string) client.SubResourceClient {
	return &MockSubResourceClient{
		MockGet:    c.MockSubResourceGet,
		MockCreate: c.MockSubResourceCreate,
		MockUpdate: c.MockSubResourceUpdate,
		MockPatch:  c.MockSubResourcePatch,
		MockApply:  c.MockSubResourceApply,
	}
}

// RESTMapper returns nil.
func (c *MockClient) RESTMapper() meta.RESTMapper { return nil }

// Scheme calls MockScheme.
func (c *MockClient) Scheme() *runtime.Scheme {
	if c.MockScheme == nil {
		return nil
	}

	return c.MockScheme()
}

// GroupVersionKindFor calls MockGroupVersionKindFor.
func (c *MockClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	if c.MockGroupVersionKindFor == nil {
		return schema.GroupVersionKind{}, nil
	}

	return c.MockGroupVersionKindFor(obj)
}

// IsObjectNamespaced calls MockIsObjectNamespaced.
func (c *MockClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	if c.MockIsObjectNamespaced == nil {
		return false, nil
	}

	return c.MockIsObjectNamespaced(obj)
}
