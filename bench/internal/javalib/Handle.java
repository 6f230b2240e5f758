/** A handle of one thread on something that is taken and freed. */
interface Handle {
    boolean take(long nanos) throws Exception;

    void free() throws Exception;
}
