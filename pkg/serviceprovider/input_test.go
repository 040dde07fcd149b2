package serviceprovider_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	sp "github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
)

// TestIgnoreInvalidUserInput checks which errors are ignored.
func TestIgnoreInvalidUserInput(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct{ err, want error }{
		"none": {nil, nil}, "another": {boom, boom}, "it": {sp.ErrInvalidUserInput, nil},
		"wrapped": {
			errors.Wrap(sp.ErrInvalidUserInput, "there is no version 3"), nil,
		}, "formatted": {fmt.Errorf("no: %w", sp.ErrInvalidUserInput), nil},
	} {
		if got := sp.IgnoreInvalidUserInput(tc.err); !errors.Is(got, tc.want) || (got == nil) != (tc.want == nil) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// strictBackups is a service that rejects a spec.
type strictBackups struct{ backups }

func (strictBackups) CreateOrUpdate(
	_ context.Context, b *Backup, _ *BackupConfig, _ sp.ClusterContext,
) (ctrl.Result, error) {
	err := errors.Wrap(sp.ErrInvalidUserInput, "there is no version 3")
	sp.StatusProgressing(b, sp.ReasonReconcileError, err.Error())

	return ctrl.Result{}, sp.IgnoreInvalidUserInput(err)
}

// TestInvalidInputIsNotRetried verifies that invalid input is reported in the status and that the
// pass returns no error.
func TestInvalidInputIsNotRetried(t *testing.T) {
	api, stored := test.NewMockClient(), &Backup{}
	api.MockGet = func(_ context.Context, key client.ObjectKey, o client.Object) error {
		o.SetName(key.Name)

		return nil
	}
	api.MockStatusPatch = func(
		_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption,
	) error {
		stored = o.(*Backup)

		return nil
	}
	everywhere := clusters.NewTestClusterFromClient("everywhere", api)
	r, err := sp.NewAPIReconcilerBuilder[*Backup, *BackupConfig]().EmptyObjectProvider(
		func() *Backup { return &Backup{} }).OnboardingCluster(everywhere).
		PlatformCluster(everywhere).ClusterAccessReconciler(
		sharedCluster{everywhere}).ProviderConfig(&BackupConfig{}).Reconciler(strictBackups{}).Build()
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "nightly"}})
	if err != nil || result.RequeueAfter < time.Hour {
		t.Errorf("want it looked at again at the poll interval, got %+v, %v", result, err)
	}
	if len(stored.Status.Conditions) == 0 ||
		stored.Status.Conditions[0].Message != "there is no version 3: invalid user input" {
		t.Errorf("got %+v", stored.Status)
	}
}
