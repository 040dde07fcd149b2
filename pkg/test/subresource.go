package test

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type (
	// A MockSubResourceGetFn is called in place of Get of a subresource.
	MockSubResourceGetFn func(ctx context.Context, obj, subResource client.Object,
		opts ...client.SubResourceGetOption) error

	// A MockSubResourceCreateFn is called in place of Create of a subresource.
	MockSubResourceCreateFn func(ctx context.Context, obj, subResource client.Object,
		opts ...client.SubResourceCreateOption) error

	// A MockSubResourceUpdateFn is called in place of Update of a subresource.
	MockSubResourceUpdateFn func(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error

	// A MockSubResourcePatchFn is called in place of Patch of a subresource.
	MockSubResourcePatchFn func(ctx context.Context, obj client.Object, patch client.Patch,
		opts ...client.SubResourcePatchOption) error

	// A MockSubResourceApplyFn is called in place of Apply of a subresource.
	MockSubResourceApplyFn func(ctx context.Context, obj runtime.ApplyConfiguration,
		opts ...client.SubResourceApplyOption) error
)

// NewMockSubResourceCreateFn returns a function that calls the functions ofn with the subresource, and then returns
// err. If one of ofn returns an error, the returned function returns that error at once.
func NewMockSubResourceCreateFn(err error, ofn ...ObjectFn) MockSubResourceCreateFn {
	return func(_ context.Context, _, subResource client.Object, _ ...client.SubResourceCreateOption) error {
		return finish(err, subResource, ofn)
	}
}

// NewMockSubResourceUpdateFn returns a function that calls the functions ofn with the object, and then returns err. If
// one of ofn returns an error, the returned function returns that error at once.
func NewMockSubResourceUpdateFn(err error, ofn ...ObjectFn) MockSubResourceUpdateFn {
	return func(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
		return finish(err, obj, ofn)
	}
}

// NewMockSubResourcePatchFn returns a function that calls the functions ofn with the object, and then returns err. If
// one of ofn returns an error, the returned function returns that error at once.
func NewMockSubResourcePatchFn(err error, ofn ...ObjectFn) MockSubResourcePatchFn {
	return func(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
		return finish(err, obj, ofn)
	}
}

var _ client.SubResourceClient = &MockSubResourceClient{}

// A MockSubResourceClient is the part of a MockClient for one subresource. A nil function does nothing and returns nil.
// The exception is a nil MockPatch, which falls back to MockUpdate in the same way as in a MockClient.
type MockSubResourceClient struct {
	MockGet    MockSubResourceGetFn
	MockCreate MockSubResourceCreateFn
	MockUpdate MockSubResourceUpdateFn
	MockPatch  MockSubResourcePatchFn
	MockApply  MockSubResourceApplyFn
}

// Get calls MockGet.
func (m *MockSubResourceClient) Get(ctx context.Context, obj, subResource client.Object,
	opts ...client.SubResourceGetOption) error {
	if m.MockGet == nil {
		return nil
	}

	return m.MockGet(ctx, obj, subResource, opts...)
}

// Create calls MockCreate.
func (m *MockSubResourceClient) Create(ctx context.Context, obj, subResource client.Object,
	opts ...client.SubResourceCreateOption) error {
	if m.MockCreate == nil {
		return nil
	}

	return m.MockCreate(ctx, obj, subResource, opts...)
}

// Update calls MockUpdate.
func (m *MockSubResourceClient) Update(ctx context.Context, obj client.Object,
	opts ...client.SubResourceUpdateOption) error {
	if m.MockUpdate == nil {
		return nil
	}

	return m.MockUpdate(ctx, obj, opts...)
}

// Patch calls MockPatch or, if that is nil, MockUpdate with a copy of obj.
func (m *MockSubResourceClient) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	switch {
	case m.MockPatch != nil:
		return m.MockPatch(ctx, obj, patch, opts...)
	case m.MockUpdate != nil:
		return m.MockUpdate(ctx, duplicate(obj))
	default:
		return nil
	}
}

// Apply calls MockApply.
func (m *MockSubResourceClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration,
	opts ...client.SubResourceApplyOption) error {
	if m.MockApply == nil {
		return nil
	}

	return m.MockApply(ctx, obj, opts...)
}
