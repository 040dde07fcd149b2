// Command serve serves a fake object store at 127.0.0.1:8090, to try the provider with.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
)

func main() {
	server := http.Server{
		Addr:              "127.0.0.1:8090",
		Handler:           &objectstore.Fake{Token: os.Getenv("OBJECTSTORE_TOKEN")},
		ReadHeaderTimeout: time.Second,
	}
	log.Print("serving the object store at http://", server.Addr)
	log.Fatal(server.ListenAndServe())
}
