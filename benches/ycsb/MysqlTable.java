import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;

import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** YCSB's operations on a MySQL table, with the statements of its JDBC binding, for the benchmark beside this file alone. */
public class MysqlTable extends DB {
  private Connection connection;
  private final Map<String, PreparedStatement> statements = new HashMap<>();

  @Override
  public void init() throws DBException {
    Properties given = getProperties();
    try {
      connection = DriverManager.getConnection(
          given.getProperty("db.url"), given.getProperty("db.user"), given.getProperty("db.passwd"));
    } catch (SQLException e) {
      throw new DBException(e);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      connection.close();
    } catch (SQLException e) {
      throw new DBException(e);
    }
  }

  private PreparedStatement statement(String sql) throws SQLException {
    PreparedStatement known = statements.get(sql);
    if (known == null) {
      known = connection.prepareStatement(sql);
      statements.put(sql, known);
    }
    return known;
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    try {
      PreparedStatement read = statement("SELECT * FROM " + table + " WHERE YCSB_KEY = ?");
      read.setString(1, key);
      try (ResultSet found = read.executeQuery()) {
        return found.next() ? Status.OK : Status.NOT_FOUND;
      }
    } catch (SQLException e) {
      return Status.ERROR;
    }
  }

  @Override
  public Status scan(String table, String startkey, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    try {
      PreparedStatement scan =
          statement("SELECT * FROM " + table + " WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?");
      scan.setString(1, startkey);
      scan.setInt(2, count);
      try (ResultSet found = scan.executeQuery()) {
        while (found.next()) {
        }
      }
      return Status.OK;
    } catch (SQLException e) {
      return Status.ERROR;
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    try {
      StringBuilder sql = new StringBuilder("UPDATE ").append(table).append(" SET ");
      String comma = "";
      for (String field : values.keySet()) {
        sql.append(comma).append(field).append("=?");
        comma = ",";
      }
      PreparedStatement update = statement(sql.append(" WHERE YCSB_KEY = ?").toString());
      int place = 1;
      for (ByteIterator value : values.values()) {
        update.setString(place++, value.toString());
      }
      update.setString(place, key);
      return update.executeUpdate() == 1 ? Status.OK : Status.UNEXPECTED_STATE;
    } catch (SQLException e) {
      return Status.ERROR;
    }
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }
}
