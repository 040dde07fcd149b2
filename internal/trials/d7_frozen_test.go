package trials

import (
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestD7DeletedConfigurationGoes restores etcd, so that versions are lower than those that the
// process knows. An unused ProviderConfig that was deleted since is removed all the same.
func TestD7DeletedConfigurationGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := configNamed("prod")
		written.ResourceVersion = "874"
		k := newKeeper(t, written)
		if _, err := k.pass("prod"); err != nil {
			t.Fatal(err)
		}
		restored := configNamed("prod")
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(restored), restored); err != nil {
			t.Fatal(err)
		}
		if len(restored.Finalizers) == 0 {
			t.Fatal("the story begins with a configuration that has its finalizer")
		}
		restored.ResourceVersion = "219"
		k.etcd.WithWatch = newConfigStore(t, restored)
		if err := k.Delete(t.Context(), restored); err != nil {
			t.Fatal(err)
		}
		passes := 0
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); passes++ {
			result, err := k.pass("prod")
			if err != nil {
				t.Fatal(err)
			}
			wait(max(result.RequeueAfter, time.Second))
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(restored), restored); err == nil {
			t.Errorf("the deleted configuration still exists after %d passes in 10 minutes, with the finalizers %v", passes,
				restored.Finalizers)
		}
	})
}
