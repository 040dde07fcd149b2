package natskv_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/store/natskv"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// Example stores an object in a bucket. The NATS server runs in the same process.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "natskv")
	must(err)
	defer os.RemoveAll(dir)
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true,
		NoSigs: true,
	})
	must(err)
	srv.Start()
	defer srv.Shutdown()
	srv.ReadyForConnections(time.Minute)
	nc, err := nats.Connect(srv.ClientURL(), nats.Timeout(time.Minute))
	must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(err)

	things, err := natskv.New[*storetest.Thing](ctx, js, "things",
		natskv.Options{Kind: "thing", Create: &jetstream.KeyValueConfig{}})
	must(err)
	_, err = things.Create(ctx, storetest.NewThing("ns/a", 1))
	must(err)
	thing, err := things.Get(ctx, "ns/a")
	must(err)
	fmt.Println(thing.Metadata.Key, thing.Spec.Size, "at revision", thing.Metadata.Revision)
	// Output: ns/a 1 at revision 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
